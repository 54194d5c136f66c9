package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/parley-bot/parley/internal/app"
)

func newBackup(streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the database to FILE, also while the daemon runs",
		Long: "Copies the database to FILE, also while the daemon runs: the copy is of one moment, and can be\n" +
			"put in the database's place. What WhatsApp Web keeps of a linked device (whatsapp-NAME.db beside the\n" +
			"database) is copied to FILE.whatsapp-NAME.db. Only you can read the copies: they hold what people\n" +
			"wrote, and a linked device's copy is the account.\n\n" +
			"Nothing is overwritten. FILE appears when all is copied and on the disk; if that fails, nothing is left.",
		Example: "  parley backup \"/var/backups/parley-$(date +%F).db\"",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "" {
				return usageError{fmt.Errorf("FILE is empty (see %s --help)", cmd.CommandPath())}
			}
			cfg, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			copies, err := app.Backup(cmd.Context(), cfg, args[0])
			if err != nil {
				return err
			}
			for _, c := range copies {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", c.To, counted(c.Size, "byte"))
			}
			return nil
		},
	}
	configFlag(cmd)
	return cmd
}
