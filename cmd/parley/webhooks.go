package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/parley-bot/parley/internal/app"
)

func newWebhooks(streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "webhooks",
		Short: "Show, set and remove the platforms' webhooks",
		Long: "Platforms call the bot at server.public_url + /webhooks/CHANNEL. These commands tell them so by their APIs.\n" +
			"Without CHANNEL they are about all channels whose platform has such a call.",
		Example: "  parley webhooks list\n  parley webhooks register --dry-run\n  parley webhooks delete telegram",
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, c := range []struct {
		action app.WebhookAction
		short  string
		dry    bool
	}{
		{app.WebhooksList, "Show what is set, what register would change and the platform's last error", false},
		{app.WebhooksRegister, "Set the webhooks; again does no harm", true},
		{app.WebhooksDelete, "Remove the webhooks", true},
	} {
		sub := &cobra.Command{
			Use:   string(c.action) + " [CHANNEL…]",
			Short: c.short,
			Args:  cobra.ArbitraryArgs,
			RunE:  func(cmd *cobra.Command, args []string) error { return webhooks(cmd, c.action, args) },
		}
		configFlag(sub)
		if c.dry {
			sub.Flags().Bool("dry-run", false, "only show what would change")
		}
		checkArgs(sub)
		cmd.AddCommand(sub)
	}
	return cmd
}

func webhooks(cmd *cobra.Command, action app.WebhookAction, names []string) error {
	cfg, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	bot, err := app.Build(cmd.Context(), cfg, app.Options{Log: newLog(cmd, cfg), In: cmd.InOrStdin(), Out: cmd.OutOrStdout()})
	if err != nil {
		return usageError{err}
	}
	dry, _ := cmd.Flags().GetBool("dry-run") // list has none: false
	all, err := bot.Webhooks(cmd.Context(), action, names, dry)
	if errors.Is(err, app.ErrNoWebhook) || errors.Is(err, app.ErrNoPublicURL) {
		err = usageError{err}
	}
	if err == nil {
		err = printWebhooks(cmd.OutOrStdout(), all)
	}
	// What was asked of the platforms is done, also where ctx has ended.
	return errors.Join(err, bot.Close(context.WithoutCancel(cmd.Context())))
}

// printWebhooks prints a table, and returns what failed.
func printWebhooks(out io.Writer, all []app.Webhook) error {
	if len(all) == 0 {
		fmt.Fprintln(out, "no channel has a webhook that is set by a call to its platform")
		return nil
	}
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "CHANNEL\tKIND\tWEBHOOK\tPENDING\tCHANGE\tLAST ERROR")
	var errs []error
	for _, w := range all {
		url, change, last := or(w.URL), or(w.Change), or(w.LastError)
		if w.Err != nil {
			errs = append(errs, w.Err)
			change = "failed"
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%d\t%s\t%s\n", w.Channel, w.Kind, url, w.Pending, change, last)
	}
	return errors.Join(append(errs, tw.Flush())...)
}

// or is s in one line, a dash where it is empty.
func or(s string) string {
	if s = strings.Join(strings.Fields(s), " "); s == "" {
		return "-"
	}
	return s
}
