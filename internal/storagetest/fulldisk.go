package storagetest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
)

// SmallDisk is a disk of half a MiB, or the test is skipped: only root mounts one.
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

// FillDisk keeps records in a storage on a small disk until it is full, holds it to have all
// that it took and nothing of what it did not, and to go on where there is room again.
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
