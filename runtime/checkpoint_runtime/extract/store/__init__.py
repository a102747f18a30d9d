"""Where objects go: put without overwriting, again where that helps, verified by what is held."""
