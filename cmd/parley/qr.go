//go:build !slim

package main

import (
	"io"

	"github.com/mdp/qrterminal/v3"
	"rsc.io/qr"
)

func qrPNG(code string) ([]byte, error) {
	c, err := qr.Encode(code, qr.L)
	if err != nil {
		return nil, err
	}
	c.Scale = 8
	return c.PNG(), nil
}

func qrText(out io.Writer, code string) error {
	qrterminal.GenerateHalfBlock(code, qrterminal.L, out)
	return nil
}
