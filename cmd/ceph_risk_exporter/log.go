package main

import (
	"io"
	"log/slog"

	gokitlog "github.com/go-kit/log"
	slogadapter "github.com/tjhop/slog-gokit"
)

// newLogger returns the program's logger: log/slog in our code, encoded by
// go-kit/log below it. This file is the only one that knows of either.
func newLogger(w io.Writer, level slog.Level, format string) *slog.Logger {
	w = gokitlog.NewSyncWriter(w)
	encode := gokitlog.NewLogfmtLogger
	if format == "json" {
		encode = gokitlog.NewJSONLogger
	}
	return slog.New(slogadapter.NewGoKitHandler(encode(w), level))
}
