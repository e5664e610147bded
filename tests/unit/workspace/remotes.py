"""A real git remote over real HTTP, and a small author of repositories."""

import asyncio
import os
import subprocess
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

UPLOAD = "application/x-git-upload-pack"
AUTHORIZATION = "basic Y2FuYXJ5OnRva2VuLWNhbmFyeQ=="


Files = Mapping[str, str | bytes | None] | Mapping[str | bytes, str | bytes | None]


class Author:
    """A person with a clone: writes files, commits, and publishes commits under refs of the remote."""

    def __init__(self, remote: Path) -> None:
        self.remote = remote
        self.tree = remote.parent / f"{remote.name}-work"
        self._git("init", "-q", "-b", "main", str(self.tree), cwd=remote.parent)
        self._git("init", "-q", "--bare", "-b", "main", str(remote), cwd=remote.parent)
        for name in ("allowFilter", "allowAnySHA1InWant"):
            self._git("config", f"uploadpack.{name}", "true", cwd=remote)

    def _git(self, *arguments: str, cwd: Path | None = None, stdin: bytes | None = None) -> str:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": "/nonexistent",
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{role}_{part}": "a@example.org" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")},
        }
        done = subprocess.run(
            ["git", *arguments], cwd=cwd or self.tree, env=environment, input=stdin, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    def git(self, *arguments: str, stdin: bytes | None = None) -> str:
        return self._git(*arguments, stdin=stdin)

    def write(self, files: Files) -> None:
        """Write files; None removes one."""
        for name, content in files.items():
            path = self.tree / os.fsdecode(name)
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self, files: Files | None = None, ref: str = "refs/heads/main") -> str:
        """Commit everything in the working tree and publish it; returns the SHA."""
        self.write(files or {})
        self.git("-c", "core.autocrlf=false", "add", "-A", ".")
        self.git("commit", "-q", "--allow-empty", "-m", "x")
        return self.publish(ref)

    def publish(self, ref: str) -> str:
        sha = self.git("rev-parse", "HEAD")
        self.git("push", "-q", "--force", str(self.remote), f"{sha}:{ref}")
        return sha


@dataclass
class Remote:
    """The remote's address, and every request it got."""

    url: str
    requests: list[str] = field(default_factory=list[str])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    stall: asyncio.Event | None = None
    redirect: bool = False
    refused: str = ""  # a SHA that is served only to those who asked for a ref first
    started: asyncio.Event = field(default_factory=asyncio.Event)


@asynccontextmanager
async def serve(root: Path) -> AsyncGenerator[Remote]:
    """``git http-backend`` behind a web server; everything below ``root`` is served."""
    remote = Remote("")

    async def handle(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        remote.requests.append(f"{request.method} {request.path_qs}")
        remote.headers.append(dict(request.headers))
        remote.started.set()
        if remote.stall:
            await remote.stall.wait()
        if remote.redirect:
            raise web.HTTPFound(f"{remote.url}-moved{request.path_qs.removeprefix('/repo.git')}")
        if b"command=ls-refs" in body:
            remote.refused = ""
        if remote.refused and f"want {remote.refused}".encode() in body:
            line = b"ERR upload-pack: not our ref " + remote.refused.encode()
            return web.Response(body=b"%04x%s" % (len(line) + 4, line), content_type=f"{UPLOAD}-result")
        if request.headers.get("Authorization") != AUTHORIZATION:
            return web.Response(status=401, headers={"WWW-Authenticate": "Basic"})
        process = await asyncio.create_subprocess_exec(
            "git",
            "http-backend",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={
                "PATH": os.environ["PATH"],
                "GIT_PROJECT_ROOT": str(root),
                "GIT_HTTP_EXPORT_ALL": "1",
                "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
                "REQUEST_METHOD": request.method,
                "PATH_INFO": request.path,
                "QUERY_STRING": request.query_string,
                "CONTENT_TYPE": request.headers.get("Content-Type", ""),
                "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
                "CONTENT_LENGTH": str(len(body)),
                "GIT_CONFIG_COUNT": "1",
                "GIT_CONFIG_KEY_0": "safe.directory",
                "GIT_CONFIG_VALUE_0": "*",
            },
        )
        output, _ = await process.communicate(body)
        head, _, content = output.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        return web.Response(status=int(headers.pop("Status", "200")[:3]), headers=headers, body=content)

    application = web.Application(client_max_size=1 << 30, handler_args={"auto_decompress": False})
    application.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    remote.url = f"http://{host}:{port}/repo.git"
    try:
        yield remote
    finally:
        if remote.stall:
            remote.stall.set()
        await runner.cleanup()
