package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/parley-bot/parley/internal/app"
)

func newVersion(streams) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print which build this is",
		Example: "  parley version",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "parley %s (revision %s, %s, %s/%s)\n%s\n",
				version, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH, terms())
			return err
		},
	}
}

// terms are what this program is distributed under. NOTICE says why.
func terms() string {
	if app.Slim {
		return "slim build, Apache-2.0; without the channel kind whatsapp_web"
	}
	return "full build, GPL-3.0 (its own sources are Apache-2.0; the slim build is Apache-2.0 as a whole)"
}
