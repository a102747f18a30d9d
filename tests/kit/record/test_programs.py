"""Ordinary programs behave as without the recorder, and what they did is told truly."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.kit.record.conftest import Runner

_GIT = """
export HOME=$PWD GIT_CONFIG_NOSYSTEM=1
git init -q repository; cd repository
git config user.name name; git config user.email e@example.org
for i in 1 2 3; do echo $i > f$i; git add .; git commit -qm c$i; done
git gc -q; git mv f1 g1; git commit -qam moved; git clone -q . ../clone; git fsck 2>&1
git log --format=%s
"""
_TAR = """
mkdir -p d/e; echo a > d/a; ln d/a d/hard; ln -s a d/soft; mkfifo d/pipe; chmod 4711 d/a
tar cf all.tar d ./d/.; mkdir out; tar xpf all.tar -C out; ls -R out
gzip all.tar; gunzip -c all.tar.gz | tar tf -
"""
_COREUTILS = """
seq 5000 > a; split -n 3 a part.; cat part.* > b; cmp a b; install -m 750 a inst; cp -a a c
sed -i s/1/2/ c; tee t1 t2 < c > /dev/null; touch -d @1000 t1; ln -sfn t1 l; mv -T l l2
truncate -s 100 t2; dd if=a of=t2 bs=7 count=9 conv=notrunc,fsync status=none
mkdir -p x/y; touch x/y/f; cp -r x z; rm -r x; find z -depth -delete; mktemp -d -p . >/dev/null
chmod -R g-r .; sync t2; ls -1 | grep -v tmp | xargs sha256sum 2> /dev/null || true
"""
_MAKE = """
printf 'p: a.o b.o\\n\\tgcc -o p a.o b.o\\n%%.o: %%.c\\n\\tgcc -c $<\\n' > Makefile
echo 'int f(void) { return 3; }' > b.c; echo 'int f(void); int main() { return f() - 3; }' > a.c
make -s -j2; ./p; strip p; ./p; ls
"""
_PYTHON = r"""
import concurrent.futures, dbm.dumb, logging.handlers, multiprocessing, os, pathlib, shelve
import shutil, sqlite3, tempfile, zipfile
def work(i):
    path = pathlib.Path(f"o{i}")
    path.with_suffix(".tmp").write_text(str(i) * 100)
    path.with_suffix(".tmp").replace(path)
    return i
if __name__ == "__main__":
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(pool.map(work, range(4)))
    with concurrent.futures.ProcessPoolExecutor(2) as processes:
        print(list(processes.map(work, range(4, 8))))
    with concurrent.futures.ThreadPoolExecutor(3) as threads:
        print(list(threads.map(work, range(8, 14))))
    handler = logging.handlers.RotatingFileHandler("log", maxBytes=200, backupCount=2)
    logging.getLogger().addHandler(handler)
    for i in range(30):
        logging.warning("line %d", i)
    handler.close()
    with shelve.Shelf(dbm.dumb.open("shelf", "c")) as shelf:
        shelf["a"] = [1, 2]; shelf.sync(); shelf["b"] = 3
    with zipfile.ZipFile("z.zip", "w") as archive:
        archive.writestr("a/b", "c" * 100)
    with zipfile.ZipFile("z.zip", "a") as archive:
        archive.writestr("d", "e"); archive.extractall("unzipped")
    for mode in ("delete", "truncate", "persist", "wal"):
        with sqlite3.connect(mode + ".db") as database:
            database.execute("pragma journal_mode=" + mode)
            database.execute("create table t (a)")
            database.executemany("insert into t values (?)", [(i,) for i in range(9)])
        database.close()
    with tempfile.TemporaryDirectory(dir=".") as folder:
        pathlib.Path(folder, "a", "b").mkdir(parents=True)
        pathlib.Path(folder, "a", "c").touch()
    shutil.copytree("unzipped", "copied"); shutil.rmtree("unzipped")
    shutil.move("copied", os.environ["TMPDIR"] + "/m")
    shutil.make_archive("archive", "tar", ".", "z.zip")
"""
_NODE = """
cat > job.js <<'end'
const fs = require("fs");
fs.writeFileSync("a", "x".repeat(10000)); fs.appendFileSync("a", "y"); fs.renameSync("a", "b");
fs.mkdirSync("d/e", {recursive: true}); fs.copyFileSync("b", "d/c");
const s = fs.createWriteStream("s");
for (let i = 0; i < 100; i++) s.write("line" + i + "\\n");
s.end(async () => { await fs.promises.rm("d", {recursive: true}); console.log("ok"); });
end
node job.js
"""
_PROGRAMS = {
    "git": (_GIT, ["git"]),
    "tar": (_TAR, ["tar", "gzip"]),
    "coreutils": (_COREUTILS, ["split", "dd", "find", "sed"]),
    "make": (_MAKE, ["make", "gcc", "strip"]),
    "python": (f"cat > job.py <<'end'\n{_PYTHON}\nend\n{sys.executable} -SE job.py", []),
    "node": (_NODE, ["node"]),
}


@pytest.mark.parametrize("name", _PROGRAMS)
def test_programs(runner: Runner, name: str) -> None:
    script, needed = _PROGRAMS[name]
    missing = [program for program in needed if shutil.which(program) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    recorded = runner.shell(script)
    names = sorted(os.listdir(runner.client.workspace))
    assert recorded.differences == []
    runner.clear()
    bare = subprocess.run(
        ["/bin/sh", "-ec", 'cd "$CHECKPOINT_WORKSPACE"\n' + script],
        env=runner.request(()).environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (recorded.result.exit_code, recorded.result.output) == (bare.returncode, bare.stdout)
    assert recorded.result.error_output == bare.stderr
    assert bare.returncode == 0
    found = sorted(os.listdir(runner.client.workspace))
    assert [n for n in names if "tmp" not in n] == [n for n in found if "tmp" not in n]
