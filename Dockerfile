# The product in one image: pages, sockets and turns in one process.
FROM python:3.12-slim

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1

WORKDIR /app
# Versions and hashes only: what was tested is what is installed.
COPY requirements.lock ./
RUN pip install --require-hashes -r requirements.lock

COPY manage.py ./
COPY agentweb agentweb
COPY planning planning
COPY memory memory
COPY chat chat
COPY templates templates
COPY static static

# Everything an instance knows lies in /data; the code stays read-only.
RUN useradd --uid 10001 --home-dir /data --shell /usr/sbin/nologin agentweb \
    && install -d -o agentweb -g agentweb /data
USER agentweb
ENV AGENT_DATA_DIR=/data
VOLUME /data
EXPOSE 8000

# The exec form: SIGTERM reaches the server, which puts its turns back into the queue.
CMD ["python", "manage.py", "serve", "--host", "0.0.0.0", "--port", "8000"]
