package storages_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/storages"
)

// SPL-9: for a storage that Of did not make, it is unknown whose its records are, and whether a fetch returns
// all of them.
func TestOwnedByNobodyKnown(t *testing.T) {
	note := aMemory(t)
	for name, s := range map[string]adk.Storage{
		"another's":             fakes.NewStorage(note).Storage(),
		"made, of another's":    storages.Of(whole(storages.Each(fakes.NewStorage(note).Storage()))),
		"guarded, of another's": storages.Guarded(fakes.NewStorage(note).Storage(), &gate{}),
	} {
		owner, err := storages.OwnerOf(s.Memories, adk.Scope{})
		require.NoError(t, err, name)
		assert.Equal(t, storages.Owner{}, owner, name)
		records, all, err := storages.AllOf(t.Context(), s.Memories, adk.Scope{})
		require.NoError(t, err, name)
		assert.Equal(t, []*adk.Memory{note}, records, name)
		assert.False(t, all, name)
	}
}
