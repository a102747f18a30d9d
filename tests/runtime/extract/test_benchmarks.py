"""What the benchmarks of the extractor stand on: their command lines, the sink, a GPU's trace."""

from __future__ import annotations

import http.client
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
if not (BENCHMARKS / "extract.py").is_file():
    pytest.skip("there are no benchmarks beside these tests", allow_module_level=True)
sys.path.append(str(BENCHMARKS.parent))

from benchmarks.extracting.sinks import sink  # noqa: E402 - the path first
from benchmarks.extracting.traces import copies_in  # noqa: E402

SCRIPTS = ("extract", "extract_backpressure", "extract_gpu", "extract_soak")


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(BENCHMARKS / f"{script}.py"), *arguments]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("script", SCRIPTS)
def test_each_says_how_it_is_called(script: str) -> None:
    done = run(script, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: {script}.py")


def test_without_a_gpu_it_says_so_and_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    needed = ("torch", "transformers", "safetensors", "boto3", "awscrt")
    if missing := [name for name in needed if importlib.util.find_spec(name) is None]:
        pytest.skip(f"not installed: {', '.join(missing)} (the extra extractor)")
    import torch  # pyright: ignore[reportMissingImports]

    from benchmarks import extract_gpu

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(sys, "argv", ["extract_gpu.py"])
    assert extract_gpu.main() == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "sees no CUDA device. --dry-run goes through all of it" in said.err


def test_the_sink_counts_what_it_got_and_overwrites_nothing() -> None:
    with sink() as store:
        parts = urlsplit(store.url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)

        def asked(method: str, body: bytes = b"", **headers: str) -> http.client.HTTPResponse:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, "/sink/key", body=body, headers=named)
            answer = connection.getresponse()
            answer.read()
            return answer

        assert asked("HEAD").status == 404
        assert asked("PUT", b"x" * 100_000, x_amz_checksum_crc64nvme="AAAA").status == 200
        assert asked("PUT", b"y" * 10, If_None_Match="*").status == 412
        held = asked("HEAD")
        assert held.headers["Content-Length"] == "100000"
        assert held.headers["x-amz-checksum-crc64nvme"] == "AAAA"
        counts = store.counts()
        assert (counts.requests, counts.body_bytes) == (2, 100_010)
        assert store.counts().body_bytes == 0
        connection.close()


def test_a_slow_sink_takes_no_more_than_it_says() -> None:
    with sink(bytes_per_s=1_000_000) as store:
        parts = urlsplit(store.url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
        connection.request("PUT", "/sink/key", body=bytes(200_000))
        assert connection.getresponse().status == 200
        connection.close()
        counts = store.counts()
        assert counts.body_bytes == 200_000
        assert counts.span_s >= 0.19


def test_a_trace_tells_copies_to_the_host_and_what_hides_them(tmp_path: Path) -> None:
    def event(category: str, name: str, begin: float, took: float, size: int = 0) -> object:
        return {"cat": category, "name": name, "ts": begin, "dur": took, "args": {"bytes": size}}

    trace = tmp_path / "trace.json"
    events = [
        event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 0, 5, 99),
        event("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 10, 10, 40_000),
        event("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 50, 10, 40_000),
        event("kernel", "gemm", 12, 4),
        event("kernel", "gemm", 15, 3),  # of another stream: the time is the same
        event("kernel", "gemm", 55, 100),
        {"cat": "cpu_op", "name": "aten::copy_", "ts": 0, "dur": 1000},
        {"name": "process_name", "ph": "M"},
    ]
    trace.write_text(json.dumps({"traceEvents": events}))
    copies = copies_in(trace)
    assert len(copies.spans) == 2
    assert copies.took_us == 20
    assert copies.size_bytes == 80_000
    assert copies.gb_per_s == pytest.approx(4.0)
    assert copies.hidden == pytest.approx((6 + 5) / 20)
