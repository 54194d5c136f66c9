package postgres

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// lost tells whether an error is of the connection.
func lost(err error) bool {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return true
	}
	_, ok := errors.AsType[net.Error](err)
	return ok
}
