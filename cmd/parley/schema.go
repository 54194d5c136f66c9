package main

import (
	"github.com/spf13/cobra"

	"github.com/parley-bot/parley/internal/app"
)

func newSchema(streams) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration, for editors",
		Long: "Prints the JSON Schema (2020-12) of the configuration of this build, with meanings and defaults. An editor with\n" +
			"yaml-language-server completes and checks keys where the first line of the file names it:\n" +
			"  # yaml-language-server: $schema=parley.schema.json\n" +
			"init writes both.",
		Example: "  parley schema > parley.schema.json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			schema, err := app.Schema()
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(schema)
			return err
		},
	}
}
