from __future__ import annotations

import pytest

from checkpoint_contracts.handoff_format import HandoffError, Page, read_page


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ('{"done": []}', Page((), (), (), ())),
        ('{"done": ["a"], "next": null}', Page(("a",), (), (), ())),
        ('{"done": ["a"], "next": "b"}', Page(("a",), ("b",), (), ())),
        ('{"done": [], "next": ["a", {"name": "b", "why": 1}]}', Page((), ("a", "b"), (), ())),
        (
            '{"done": [{"name": "a", "size": 3}], "failed": ["b"], "pages": ["p/1"], "more": 1}',
            Page(("a",), (), ("b",), ("p/1",)),
        ),
    ],
)
def test_what_is_of_the_form(text: str, page: Page) -> None:
    assert read_page(text) == page
    assert read_page(text.encode()) == page


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b" \n", "it is empty"),
        (b'{"done": ["a"', "it is not JSON: "),
        (b"\xff\xfe\xfd", "it is not JSON: "),
        (b"[" * 100_000, "it is not JSON: "),
        (b'["a"]', "it is not a JSON object"),
        (b'{"next": "a"}', "it has no member 'done', a list of what is done"),
        (b'{"done": "a"}', "its member 'done' is not a list"),
        (b'{"done": {"a": 1}}', "its member 'done' is not a list"),
        (b'{"done": [1]}', "in its member 'done' stands neither a name nor an object with one"),
        (b'{"done": [{"stage": "a"}]}', "in its member 'done' stands neither a name nor an ob"),
        (b'{"done": [], "next": 2}', "in its member 'next' stands neither a name nor an object"),
        (b'{"done": [], "failed": null}', "its member 'failed' is not a list"),
        (b'{"done": [], "pages": [""]}', "its member 'pages' is not a list of paths"),
    ],
)
def test_anything_else_is_refused_with_a_sentence(data: bytes, sentence: str) -> None:
    with pytest.raises(HandoffError) as refusal:
        read_page(data)
    assert str(refusal.value).startswith(sentence)
