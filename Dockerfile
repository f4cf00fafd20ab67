# syntax=docker/dockerfile:1
#
# Two stages. librados must be at least as new as the cluster's keys, so the base
# image decides which clusters the image can talk to: trixie has librados 18.2,
# forky 20.2, which talks to every release from 16 on. The two bases must be of
# the same Debian release.
#
#   docker build --build-arg BASE=debian:forky-slim -t ceph-risk-exporter .
ARG BASE=debian:trixie-slim
ARG GO=golang:1.26-trixie

FROM ${GO} AS go

FROM ${BASE} AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates gcc libc6-dev librados-dev \
 && rm -rf /var/lib/apt/lists/*
COPY --from=go /usr/local/go /usr/local/go
ENV PATH=/usr/local/go/bin:$PATH GOTOOLCHAIN=local
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN go build -trimpath -buildvcs=false -ldflags "-s -w -X main.release=${VERSION}" -o /out/ ./cmd/...

FROM ${BASE}
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates librados2 \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 64045 ceph-risk \
 && useradd --uid 64045 --gid 64045 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin ceph-risk \
 && install -d -o 64045 -g 64045 -m 0700 /var/lib/ceph_risk_exporter
COPY --from=build /out/ /usr/bin/
USER 64045:64045
EXPOSE 10283
VOLUME /var/lib/ceph_risk_exporter
ENTRYPOINT ["/usr/bin/ceph_risk_exporter"]
