package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

func newVersion(streams) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print which build this is",
		Example: "  parley version",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "parley %s (revision %s, %s, %s/%s), Apache-2.0\n",
				version, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
