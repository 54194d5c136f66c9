//go:build !slim

package main

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const code = "2@ABCDEF,noise,identity,adv"

// A QR code in the terminal is a square of half blocks, one in a file a PNG
// that only its owner can read.
func TestPair_Shows(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := showCode(&out, code, "", ""); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(out.String(), "\n"); lines < 15 || !strings.ContainsAny(out.String(), "▀▄█") || strings.Contains(out.String(), code) {
		t.Errorf("shown is %q", out.String())
	}
	file := filepath.Join(t.TempDir(), "code.png")
	if err := showCode(&out, code, "", file); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil || img.Bounds().Dx() < 150 || img.Bounds().Dx() != img.Bounds().Dy() {
		t.Errorf("the image: %v, %v", img, err)
	}
	if info, err := f.Stat(); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the file: %v, %v", info.Mode(), err)
	}
	out.Reset()
	if err := showCode(&out, "ABCD-EFGH", "+1555", ""); err != nil || !strings.Contains(out.String(), "ABCD-EFGH") {
		t.Errorf("a code to type: %q, %v", out.String(), err)
	}
}

// Before the first code, and only then, the risk to the account is told.
func TestPair_TellsTheRiskOnce(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	show := warned(&out, func(code string) error {
		out.WriteString(code + "\n")
		return nil
	})
	for _, c := range []string{"one", "two"} {
		if err := show(c); err != nil {
			t.Fatal(err)
		}
	}
	if want := banRisk + "\none\ntwo\n"; out.String() != want || !strings.Contains(banRisk, "ban") {
		t.Errorf("shown is %q", out.String())
	}
}

func TestPair_WrongUse(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "parley.yaml")
	if err := os.WriteFile(file, []byte("model: {provider: script, script: m.yaml}\nstore: {url: \"sqlite://"+t.TempDir()+"/p.db\"}\nchannels: {web: {kind: webchat}, wa: {kind: whatsapp_web}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), "m.yaml"), []byte("rules:\n  - say: hi\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"pair"}, exitUsage, "CHANNEL is missing"},
		{[]string{"pair", "web", "-c", file}, exitUsage, "it needs no device"},
		{[]string{"pair", "nobody", "-c", file}, exitUsage, "there are wa, web"},
		{[]string{"pair", "wa", "-c", file, "--phone", "+15551234567", "--png", "x.png"}, exitUsage, "--png is for QR codes"},
		{[]string{"pair", "wa", "-c", file, "--phone", "0123"}, exitFailure, "international form"},
	} {
		var out, errOut bytes.Buffer
		if got := run(t.Context(), tc.args, strings.NewReader(""), &out, &errOut); got != tc.code || !strings.Contains(errOut.String(), tc.says) {
			t.Errorf("%v: exit %d, %q", tc.args, got, errOut.String())
		}
	}
}
