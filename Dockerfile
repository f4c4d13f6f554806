# The image of feedbell: build and run stage on the same base, so that the virtual environment fits.
# A release names BASE by digest; any image with a python3 of 3.11 or newer will do.
ARG BASE=python:3.13-slim

FROM ${BASE} AS build
WORKDIR /app
COPY pyproject.toml requirements.lock bootstrap.py ./
RUN ["python3", "bootstrap.py", "setup"]
# The bot installs nothing, so it keeps no installer.
RUN ["python3", "-c", "import pathlib, shutil; site = '*/site-packages/'; \
    names = ['pip*', 'setuptools*', 'pkg_resources', '_distutils_hack', 'distutils-precedence.pth']; \
    found = [path for name in names for path in pathlib.Path('.venv/lib').glob(site + name)]; \
    found += pathlib.Path('.venv/bin').glob('pip*'); \
    [shutil.rmtree(path) if path.is_dir() else path.unlink() for path in found]"]
COPY bot bot
RUN [".venv/bin/python", "-m", "compileall", "-q", "bot"]
RUN ["mkdir", "/data"]

FROM ${BASE}
LABEL org.opencontainers.image.title="feedbell" \
      org.opencontainers.image.licenses="MIT"
COPY --from=build /app /app
COPY --from=build --chown=65532:65532 /data /data
ENV PATH=/app/.venv/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    FEEDBELL_CONFIG=/config/config.toml
USER 65532:65532
WORKDIR /data
VOLUME ["/data"]
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=10s --start-period=20s --retries=3 CMD ["feedbell", "health"]
ENTRYPOINT ["feedbell"]
CMD ["run"]
