//go:build slim

package main

import (
	"errors"
	"io"
)

// No channel of this build is linked by a QR code: such a configuration is
// refused before one could be shown.
var errNoQR = errors.New("this slim build of parley has no QR codes: use the full one, see parley version")

func qrPNG(string) ([]byte, error) { return nil, errNoQR }

func qrText(io.Writer, string) error { return errNoQR }
