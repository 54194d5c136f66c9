# syntax=docker/dockerfile:1
#
# parley in an image of its own: one static binary, CA certificates and time
# zones, no shell and nobody's root.
#
#   docker build -t parley --build-arg VERSION="$(git describe --tags --always)" .
#   docker build -t parley:slim --build-arg TAGS=slim --build-arg LICENSES=Apache-2.0 .
#   docker run -p 127.0.0.1:8080:8080 -v "$PWD/mybot:/etc/parley:ro" -v parley:/data parley
#
# The default has everything and is distributed under the GPL 3.0; the slim one
# is Apache-2.0 and has no WhatsApp Web (see NOTICE).
#
# What goes where is in deploy/README.md.

FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
# The modules first: they change less often than the source.
COPY go.mod go.sum ./
RUN go mod download && go mod verify
COPY . .
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=dev
ARG REVISION=unknown
ARG TAGS=
RUN CGO_ENABLED=0 GOOS="$TARGETOS" GOARCH="$TARGETARCH" go build -trimpath -buildvcs=false -tags "$TAGS" \
    -gcflags "github.com/evanw/esbuild/...=-l" -ldflags "-s -w -X main.version=$VERSION -X main.revision=$REVISION" \
    -o /out/parley ./cmd/parley
# Everything else that the image has. /data belongs to the user below, and a
# new volume takes that over; SQLite wants a /tmp.
RUN mkdir -p /out/root/data /out/root/etc/ssl/certs /out/root/usr/share /out/root/usr/share/doc/parley \
    && chmod 0700 /out/root/data \
    && mkdir -m 1777 /out/root/tmp \
    && cp /etc/ssl/certs/ca-certificates.crt /out/root/etc/ssl/certs/ \
    && cp "$(go env GOROOT)/lib/time/zoneinfo.zip" /out/root/usr/share/zoneinfo.zip \
    && cp -r LICENSE LICENSES NOTICE /out/root/usr/share/doc/parley/

FROM scratch
COPY --from=build --chown=65532:65532 /out/root/ /
COPY --from=build /out/parley /parley
# The working directory is / so that the default store, data/parley.db, is in
# the volume. A container's own loopback address is of no use to anybody.
WORKDIR /
ENV ZONEINFO=/usr/share/zoneinfo.zip \
    PARLEY_SERVER_LISTEN=:8080
USER 65532:65532
VOLUME /data
EXPOSE 8080
# Whether the process answers. A channel that is down is an alert, not a reason
# to start the others again: that is what /readyz and Prometheus are for.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 CMD ["/parley", "health"]
ENTRYPOINT ["/parley"]
CMD ["serve", "-c", "/etc/parley/parley.yaml"]
ARG LICENSES=GPL-3.0-only
LABEL org.opencontainers.image.title="parley" \
      org.opencontainers.image.description="A chatbot that asks before it acts" \
      org.opencontainers.image.source="https://github.com/parley-bot/parley" \
      org.opencontainers.image.licenses="$LICENSES"
