package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/parley-bot/parley/internal/app"
)

// banRisk is told before the first code, when another account can still be
// taken.
const banRisk = "WhatsApp can ban an account that a program such as this one uses: link one that may be lost."

func newPair(streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pair CHANNEL",
		Short: "Link a WhatsApp Web channel to an account",
		Long: "Shows a QR code to scan with the phone (WhatsApp: Settings, Linked devices, Link a device), a new one when it\n" +
			"runs out, until the device is linked. With --phone it is a code of eight characters to type into that phone\n" +
			"instead (Link with phone number). A daemon may go on running: it connects by itself a few seconds later.\n\n" +
			banRisk,
		Example: "  parley pair wa_web\n  parley pair wa_web --png code.png\n  parley pair wa_web --phone +15551234567",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			phone, _ := cmd.Flags().GetString("phone") // declared below
			png, _ := cmd.Flags().GetString("png")
			if phone != "" && png != "" {
				return usageError{errors.New("--png is for QR codes: with --phone there is none")}
			}
			return pair(cmd, args[0], phone, png)
		},
	}
	configFlag(cmd)
	cmd.Flags().String("phone", "", "show a code to type into the phone with this `NUMBER`, instead of a QR code")
	cmd.Flags().String("png", "", "write the QR code to this `FILE` instead of the terminal, again whenever it changes")
	return cmd
}

func pair(cmd *cobra.Command, channel, phone, png string) error {
	cfg, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	bot, err := app.Build(cmd.Context(), cfg, app.Options{Log: newLog(cmd, cfg)})
	if err != nil {
		return usageError{err}
	}
	out := cmd.OutOrStdout()
	var failed error
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	show := warned(cmd.ErrOrStderr(), func(code string) error { return showCode(out, code, phone, png) })
	err = bot.Pair(ctx, channel, phone, func(code string) {
		if err := show(code); err != nil {
			failed = err
			cancel()
		}
	})
	switch {
	case failed != nil:
		err = failed
	case errors.Is(err, app.ErrNoPairing):
		err = usageError{err}
	case err == nil:
		fmt.Fprintf(out, "channel %s is linked\n", channel)
	case cmd.Context().Err() != nil:
		err = errors.New("interrupted: no device was linked")
	}
	if png != "" {
		_ = os.Remove(png) // whoever finds it later can't use it
	}
	return errors.Join(err, bot.Close(context.WithoutCancel(cmd.Context())))
}

// warned is show, with the risk told before the first code.
func warned(out io.Writer, show func(code string) error) func(code string) error {
	told := false
	return func(code string) error {
		if !told {
			fmt.Fprintln(out, banRisk)
			told = true
		}
		return show(code)
	}
}

// showCode shows what the phone has to see, or to be typed.
func showCode(out io.Writer, code, phone, png string) error {
	switch {
	case phone != "":
		fmt.Fprintf(out, "type this code into the phone with the number %s (Linked devices, Link with phone number): %s\n", phone, code)
		return nil
	case png != "":
		image, err := qrPNG(code)
		if err != nil {
			return fmt.Errorf("QR code: %w", err)
		}
		// Whoever sees it can be the first to scan it. It is replaced in one
		// piece: something may be watching the file.
		tmp := filepath.Join(filepath.Dir(png), "."+filepath.Base(png)+".new")
		if err := os.WriteFile(tmp, image, 0o600); err != nil {
			return fmt.Errorf("writing the QR code: %w", err)
		}
		if err := os.Rename(tmp, png); err != nil {
			return fmt.Errorf("writing the QR code: %w", err)
		}
		fmt.Fprintf(out, "scan the QR code in %s\n", png)
		return nil
	default:
		fmt.Fprintln(out, "scan this with the phone (WhatsApp: Settings, Linked devices, Link a device):")
		return qrText(out, code)
	}
}
