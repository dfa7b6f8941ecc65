package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// A heldClock is the address of the server's clock, which stands still until it is advanced. The libraries
// use the server's time for their decisions, so this process can keep its own.
type heldClock string

func (c heldClock) advance(ctx context.Context, d time.Duration) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		fmt.Sprintf("%s/advance?ms=%d", string(c), d.Milliseconds()), nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("the clock answered %q, %w", text, err)
	}
	return nil
}
