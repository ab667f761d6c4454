package storagetest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
)

// SmallDisk mounts a disk of half a MiB. It skips the test if it cannot, because only root can
// mount one.
func SmallDisk(t interface {
	require.TestingT
	Cleanup(func())
	Skipf(string, ...any)
}) string {
	dir := TempDir(t)
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("no small disk: mount: %v: %s", err, out)
	}
	t.Cleanup(func() {
		out, err := exec.Command("umount", dir).CombinedOutput()
		require.NoError(t, err, "%s", out)
	})
	return dir
}

// FillDisk stores records on a small disk until it is full. It checks that the storage has all
// records that it accepted and nothing of the one that it refused, and that it continues when there
// is space again.
func FillDisk(t require.TestingT, dir string, open func() (Opened, adk.Storage)) {
	ballast := filepath.Join(dir, "ballast")
	require.NoError(t, os.WriteFile(ballast, make([]byte, 128<<10), 0o600))
	opened, s := open()
	ctx, scope, text := context.Background(), ScopeOf("shop", "one"), strings.Repeat("a\x00🎉", 700)
	kept := 0
	var err error
	for ; ; kept++ {
		require.Less(t, kept, 1000, "the disk is never full")
		if err = s.Instructions.Store(ctx, scope, adk.NewTokenizable(fmt.Sprint(kept, text))); err != nil {
			break
		}
	}
	assert.ErrorContains(t, err, fmt.Sprintf(`storage: instructions: store "%da\x00🎉`, kept))
	assert.Regexp(t, "no space left|disk is full|disk I/O", err.Error())
	holds := func(want int) {
		fetched, err := s.Instructions.Fetch(ctx, scope)
		require.NoError(t, err)
		require.Len(t, fetched, want)
		for n, one := range fetched {
			require.Equal(t, fmt.Sprint(n, text), one.String())
		}
	}
	holds(kept)
	require.NoError(t, os.Remove(ballast))
	require.NoError(t, s.Instructions.Store(ctx, scope, adk.NewTokenizable(fmt.Sprint(kept, text))))
	holds(kept + 1)
	require.NoError(t, opened.Close())
	opened, s = open()
	holds(kept + 1)
	require.NoError(t, opened.Close())
}

// FillDiskBySessions settles deliveries on a small disk until it is full. It checks that the error
// names the delivery that was refused, that this delivery left nothing, and that all deliveries
// count once when there is space again.
func FillDiskBySessions(t require.TestingT, dir string, open func() (Opened, adk.Storage, session.Store)) {
	ballast := filepath.Join(dir, "ballast")
	require.NoError(t, os.WriteFile(ballast, make([]byte, 128<<10), 0o600))
	opened, records, store := open()
	// A commit waits for space as long as its lease lasts, which usually is ten seconds.
	h := SessionHost(t, records, store, func(c *session.Config) { c.Lease = time.Second })
	ctx := context.Background()
	deliver := func(n int) (session.Outcome, error) {
		return h.Deliver(ctx, session.Delivery{Tenant: "shop", Session: "one", ID: fmt.Sprint("d", n), Kind: "numbers", Payload: json.RawMessage(`1`)})
	}
	settled := 0
	var err error
	for ; ; settled++ {
		require.Less(t, settled, 2000, "the disk is never full")
		if _, err = deliver(settled); err != nil {
			break
		}
	}
	assert.ErrorContains(t, err, fmt.Sprintf(`delivery "d%d" of session "one" of tenant "shop": `, settled))
	assert.Regexp(t, "no space left|disk is full|disk I/O", err.Error())
	holds := func(want int) {
		state, err := h.State(ctx, "shop", "one")
		require.NoError(t, err)
		assert.EqualValues(t, want, state.Revision)
		assert.Equal(t, fmt.Sprint(want), string(state.Keys[0].Value))
		messages, err := records.Messages.Fetch(ctx, ScopeOf("shop", "one"))
		require.NoError(t, err)
		require.Len(t, messages, want)
		for n, m := range messages {
			assert.Equal(t, fmt.Sprint("d", n), m.ID())
		}
	}
	holds(settled)
	require.NoError(t, os.Remove(ballast))
	for n := range settled + 1 {
		o, err := deliver(n)
		require.NoError(t, err)
		assert.Equal(t, session.Committed, o.State)
	}
	holds(settled + 1)
	require.NoError(t, opened.Close())
	opened, records, store = open()
	h = SessionHost(t, records, store)
	holds(settled + 1)
	require.NoError(t, opened.Close())
}
