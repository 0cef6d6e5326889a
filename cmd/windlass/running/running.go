// Package running is the commands that ask a running windlass.
package running

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/windlass-dev/windlass/host/state"
)

// Commands are "windlass status", "windlass get" and so on.
func Commands() []*cobra.Command {
	return []*cobra.Command{
		recordCommand(), explainCommand(), getCommand(), releaseCommand(), statusCommand(), topCommand(), consoleCommand(),
	}
}

// AskMost is how long a shell waits for a windlass to tell its names. Tests have more patience.
var AskMost = 500 * time.Millisecond

// Status returns what the windlass that a command would ask says of itself, nil if it doesn't within a moment.
func Status(cmd *cobra.Command) *state.Status {
	s := serverOf(cmd)
	if s == nil {
		return nil
	}

	ctx, cancel := context.WithTimeout(cmd.Context(), AskMost)
	defer cancel()
	status, err := s.fetchStatus(ctx)
	if err != nil {
		return nil
	}
	return status
}

// serverOf is the windlass that a command would ask, nil for one that asks none.
func serverOf(cmd *cobra.Command) *server {
	if cmd.Flags().Lookup("server") == nil {
		return nil
	}

	like := &cobra.Command{}
	s := serverFlags(like)
	like.Flags().VisitAll(func(f *pflag.Flag) {
		if given := cmd.Flags().Lookup(f.Name); given != nil && given.Changed {
			_ = f.Value.Set(given.Value.String()) // it was taken once
		}
	})
	return s
}
