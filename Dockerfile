# docker build --tag forge .
# docs/install.md says how to run it, what the sandbox needs from a container, and how the image is released.

# The version and the system that Forge was tried on. Another image must have python3 with venv, and apt.
ARG PYTHON=python:3.13-slim-trixie

FROM ${PYTHON} AS build
WORKDIR /src
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
COPY requirements.txt requirements-build.txt ./
# Two environments: what runs, and what only builds the project's own wheel. Every download is held to its hash.
RUN python3 -m venv /opt/forge \
    && /opt/forge/bin/pip install --require-hashes --no-deps --only-binary :all: -r requirements.txt \
    && python3 -m venv /opt/build \
    && /opt/build/bin/pip install --require-hashes --no-deps --only-binary :all: -r requirements-build.txt
COPY . .
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /tmp/dist . \
    && /opt/forge/bin/pip install --no-deps --no-index /tmp/dist/*.whl

FROM ${PYTHON}
# tini collects orphaned processes and passes SIGTERM on, whoever starts the container. No versions: a build takes what
# Debian corrected since.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends bubblewrap ca-certificates git tini \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/apt /var/log/dpkg.log \
    && groupadd --system --gid 10001 forge \
    && useradd --system --uid 10001 --gid 10001 --home-dir /var/lib/forge --shell /usr/sbin/nologin forge \
    && install --directory --owner forge --group forge --mode 700 /var/lib/forge
COPY --from=build /opt/forge /opt/forge
ENV PATH=/opt/forge/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    FORGE_HOST=0.0.0.0 \
    FORGE_PORT=3000 \
    FORGE_LOG_FORMAT=json \
    FORGE_DATA_DIR=/var/lib/forge
# By number, so that Kubernetes can see that it is not root.
USER 10001:10001
# Without FORGE_DATABASE_URL, which a file of secrets may hold, the database is forge.db in this folder.
WORKDIR /var/lib/forge
VOLUME /var/lib/forge
EXPOSE 3000
STOPSIGNAL SIGTERM
# Every process of Forge answers it, also while it waits for its database.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python3", "-c", "import os, urllib.request as u; u.build_opener(u.ProxyHandler({})).open('http://127.0.0.1:' + os.environ['FORGE_PORT'] + '/healthz', timeout=4)"]
ENTRYPOINT ["/usr/bin/tini", "--"]
CMD ["forge", "serve"]

# Last, so that a new revision changes no layer.
ARG VERSION=0.0.0+unknown
ARG REVISION=unknown
ARG SOURCE=
LABEL org.opencontainers.image.title="Forge" \
    org.opencontainers.image.description="A GitHub App that reviews, plans, implements, tests and deploys, with people at its gates" \
    org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}" \
    org.opencontainers.image.source="${SOURCE}"
