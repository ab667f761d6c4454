package storagetest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/samples"
)

const (
	// processes is how many processes open a storage at the same time. Each of them stores
	// keptByEach records.
	processes  = 4
	keptByEach = 25
)

// KeepBesideOthers stores records under keys that contain name, and one under a key that all
// processes use.
func KeepBesideOthers(s adk.Storage, name string) error {
	for i := range keptByEach {
		for _, key := range []string{fmt.Sprint(name, "-", i), "all"} {
			init := adk.MemoryInit{ID: key, Content: name, Confidence: new(0.5), Importance: new(0.5), CreatedAt: fakes.Epoch, UpdatedAt: fakes.Epoch}
			if err := s.Memories.Store(context.Background(), ScopeOf("shop", name), samples.Must(adk.NewMemory(init))); err != nil {
				return err
			}
		}
	}
	return nil
}

// Processes runs this program several times concurrently, each time with the environment variable
// for a name; that process must call KeepBesideOthers with the name.
func Processes(t require.TestingT, variable func(name string) string) {
	var running sync.WaitGroup
	for i := range processes {
		running.Go(func() {
			command := exec.Command(os.Args[0])
			command.Env = append(os.Environ(), variable(fmt.Sprint("child", i)))
			out, err := command.CombinedOutput()
			assert.NoError(t, err, "%s", out)
		})
	}
	running.Wait()
}

// HoldsOfAll checks that a storage has what all processes stored, with the records of each process
// in its order.
func HoldsOfAll(t require.TestingT, s adk.Storage) {
	fetched, err := s.Memories.Fetch(context.Background(), ScopeOf("shop", "any"))
	require.NoError(t, err)
	assert.Len(t, fetched, processes*keptByEach+1)
	next := map[string]int{}
	for _, m := range fetched {
		if name, number, of := strings.Cut(m.ID(), "-"); of {
			assert.Equal(t, fmt.Sprint(next[name]), number, "the records of a writer stand in the order in which it wrote")
			next[name]++
		}
	}
}
