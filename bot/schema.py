"""Serves the JSON Schema of ``.github/forge.yml``, so that editors can name it by its address."""

import json

from aiohttp import web

from domain.config.schema import ADDRESS, build_schema


class ConfigurationSchema:
    """Answers ``GET /schema/forge.yml.json``.

    :param public_url: of this server; empty: the schema names itself by its path alone, which counts from where it was
        read. The name in a request could be anybody's.
    """

    def __init__(self, public_url: str) -> None:
        self._id = f"{public_url}{ADDRESS}"

    async def show(self, _request: web.Request) -> web.Response:
        """The schema of this version. Everybody may read it, pages of other servers too: it holds no secret."""
        return web.Response(
            text=json.dumps({"$id": self._id, **build_schema()}, ensure_ascii=False),
            content_type="application/schema+json",
            headers={"Access-Control-Allow-Origin": "*", "Cache-Control": "public, max-age=3600"},
        )
