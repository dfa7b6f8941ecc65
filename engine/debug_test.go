package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/disk/crashdisk"
)

func TestDebugSleep(t *testing.T) {
	p := start(t, crashdisk.New(1).FS(), "--enable-debug-command", "yes")
	c := p.client(t)
	slept := func(seconds string) (us int64) {
		p.waits = nil
		require.Equal(t, "OK", do(c.Session, "DEBUG SLEEP "+seconds))
		for _, w := range p.waits {
			us += w
		}
		return us
	}
	require.EqualValues(t, 1_500_000, slept("1.5"))
	require.Zero(t, slept("0"))
	require.Zero(t, slept("-1"))
	require.Zero(t, slept("nan"))
	require.Zero(t, slept("many"))
	p.End()
	require.Zero(t, slept("1e300"), "the server ends")
}
