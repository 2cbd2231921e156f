# Pin the base by digest for a reproducible build: --build-arg BASE=python:3.13-slim@sha256:...
ARG BASE=python:3.11-slim

FROM ${BASE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /src

# The locked dependencies first: this layer stays cached while only the code changes.
COPY requirements.txt requirements-build.txt ./
RUN python -m venv /opt/build \
    && /opt/build/bin/pip install --require-hashes -r requirements-build.txt \
    && python -m venv /opt/imagerefresh \
    && /opt/imagerefresh/bin/pip install --require-hashes -r requirements.txt

COPY pyproject.toml README.md LICENSE ./
COPY operator operator
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /wheel . \
    && /opt/imagerefresh/bin/pip install --no-deps --no-index /wheel/*.whl

FROM ${BASE}
ENV PATH=/opt/imagerefresh/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
COPY --from=build /opt/imagerefresh /opt/imagerefresh

# A number, so that Kubernetes can tell that it isn't root.
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["imagerefresh"]
CMD ["run"]
