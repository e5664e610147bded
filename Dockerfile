# docker build -t forge .
# docker run --init --hostname forge-1 --env-file .env --volume forge:/var/lib/forge --publish 3000:3000 forge
# --hostname keeps the executor id stable from one container to the next; --init collects orphaned processes.
# Inside default Docker bubblewrap is not allowed to make namespaces; forge doctor then shows the Landlock level.

FROM python:3.12-slim-bookworm AS build
WORKDIR /src
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
COPY requirements.txt requirements-build.txt ./
# Two environments: what runs, and what only builds the project's own wheel.
RUN python -m venv /opt/forge \
    && /opt/forge/bin/pip install --require-hashes --no-deps -r requirements.txt \
    && python -m venv /opt/build \
    && /opt/build/bin/pip install --require-hashes --no-deps -r requirements-build.txt
COPY . .
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /tmp/dist . \
    && /opt/forge/bin/pip install --no-deps --no-index /tmp/dist/*.whl

FROM python:3.12-slim-bookworm
RUN apt-get update \
    && apt-get install --yes --no-install-recommends bubblewrap ca-certificates git \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --user-group --home-dir /var/lib/forge --create-home --shell /usr/sbin/nologin forge
COPY --from=build /opt/forge /opt/forge
ENV PATH=/opt/forge/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    FORGE_HOST=0.0.0.0 \
    FORGE_PORT=3000 \
    FORGE_DATA_DIR=/var/lib/forge \
    FORGE_DATABASE_URL=sqlite:////var/lib/forge/forge.db
USER forge
WORKDIR /var/lib/forge
VOLUME /var/lib/forge
EXPOSE 3000
# forge serve and forge worker both answer it.
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as u; u.build_opener(u.ProxyHandler({})).open('http://127.0.0.1:' + os.environ['FORGE_PORT'] + '/healthz', timeout=4)"]
CMD ["forge", "serve"]
