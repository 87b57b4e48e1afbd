# One image for the web server, the provers and the attesters: the command selects the role.

FROM python:3.11-slim AS packages
RUN python3 -m venv /opt/tacitus
ENV PATH=/opt/tacitus/bin:$PATH
COPY requirements.txt .
RUN python -m pip install --no-cache-dir --require-hashes -r requirements.txt

FROM python:3.11-slim
# A numeric id: Kubernetes (runAsNonRoot) needs one to see that it is not root.
RUN groupadd --gid 10001 tacitus && useradd --uid 10001 --gid 10001 --no-create-home tacitus
COPY --from=packages /opt/tacitus /opt/tacitus
WORKDIR /srv/tacitus
COPY manage.py ./
COPY accounts accounts
COPY explorer explorer
COPY queries queries
ENV PATH=/opt/tacitus/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    STATIC_ROOT=/srv/collected
# The file names do not depend on SECRET_KEY and SITE_URL, so any values will do.
RUN SECRET_KEY=$(python -c 'import secrets; print(secrets.token_urlsafe(64))') \
    SITE_URL=https://build.invalid python manage.py collectstatic --no-input --verbosity 0
USER 10001
EXPOSE 8000
CMD ["python", "manage.py", "serve", "--host", "0.0.0.0", "--port", "8000"]
