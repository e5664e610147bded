"""Answers requests as GitHub once did, and takes no time over it: `python -m tests.bench.recorded FILE`.

FILE maps "METHOD path" to an answer; everything else is 404. The port is printed.
"""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web


async def serve(file: Path) -> None:
    """Answer until killed."""
    answers = {request: json.dumps(answer).encode() for request, answer in json.loads(file.read_text()).items()}

    async def answer(request: web.Request) -> web.Response:
        body = answers.get(f"{request.method} {request.path}")
        return web.Response(status=404 if body is None else 200, body=body or b"{}", content_type="application/json")

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    sys.stdout.write(f"{runner.addresses[0][1]}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


@asynccontextmanager
async def serve_answers(answers: Mapping[str, object], folder: Path) -> AsyncGenerator[str]:
    """Serve these answers from a process of its own; its address."""
    file = folder / "answers.json"
    file.write_text(json.dumps(answers))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.bench.recorded", str(file), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(await process.stdout.readline())}"
    finally:
        process.kill()
        await process.wait()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
