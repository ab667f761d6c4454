package adk

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// named makes a tool with a collision policy; the description distinguishes two tools of one name.
func named(t testing.TB, name, description string, change ...func(*ToolInit)) *Tool {
	t.Helper()
	init := toolInit(name)
	init.Description = description
	for _, c := range change {
		c(&init)
	}
	return mustTool(t, init)
}

func ephemeral(init *ToolInit) { init.Ephemeral = true }

func policy(c Collision) func(*ToolInit) { return func(init *ToolInit) { init.OnCollision = c } }

func mustRegistry(t testing.TB, tools ...*Tool) *Registry {
	t.Helper()
	r, err := NewRegistry(tools...)
	require.NoError(t, err)
	return r
}

// contents returns what a registry holds, in order, as name:description.
func contents(r *Registry) []string {
	list := []string{}
	for _, tool := range r.All() {
		list = append(list, tool.Name()+":"+tool.Description())
	}
	return list
}

// TOL-6: tools are kept in the order of registration. Register refuses a known name, whatever the tool's policy.
func TestRegistryRegister(t *testing.T) {
	r := mustRegistry(t, named(t, "b", "1"), named(t, "a", "1"))
	require.NoError(t, r.Register(named(t, "c", "1")))
	assert.Equal(t, []string{"b:1", "a:1", "c:1"}, contents(r))
	assert.Equal(t, 3, r.Len())

	err := r.Register(named(t, "a", "2", policy(CollisionReplace)))
	require.ErrorIs(t, err, E_TOOL_ALREADY_REGISTERED)
	assert.ErrorContains(t, err, `"a"`)
	assert.Equal(t, []string{"b:1", "a:1", "c:1"}, contents(r))

	_, err = NewRegistry(named(t, "a", "1"), named(t, "a", "2"))
	assert.ErrorIs(t, err, E_TOOL_ALREADY_REGISTERED)
	assert.ErrorIs(t, r.Register(nil), E_INVALID_INITIAL_TOOL_VALUE)
	assert.ErrorIs(t, r.Replace(nil), E_INVALID_INITIAL_TOOL_VALUE)
}

// TOL-6: Replace keeps the place of the tool that it replaces.
func TestRegistryReplace(t *testing.T) {
	r := mustRegistry(t, named(t, "a", "1"), named(t, "b", "1"))
	require.NoError(t, r.Replace(named(t, "a", "2")))
	require.NoError(t, r.Replace(named(t, "c", "1")))
	assert.Equal(t, []string{"a:2", "b:1", "c:1"}, contents(r))
}

// TOL-6: Get, Has and Unregister report an unknown name without failing.
func TestRegistryLookUp(t *testing.T) {
	var r Registry
	_, ok := r.Get("a")
	assert.False(t, ok)
	assert.False(t, r.Has("a"))
	assert.False(t, r.Unregister("a"))
	assert.Empty(t, r.All())

	tool := named(t, "a", "1")
	require.NoError(t, r.Register(tool))
	got, ok := r.Get("a")
	assert.True(t, ok)
	assert.Same(t, tool, got)
	assert.True(t, r.Unregister("a"))
	assert.False(t, r.Has("a"))
	assert.Zero(t, r.Len())
}

// TOL-6: All returns a slice that belongs to the caller.
func TestRegistryAllIsFresh(t *testing.T) {
	r := mustRegistry(t, named(t, "a", "1"))
	r.All()[0] = nil
	assert.Equal(t, []string{"a:1"}, contents(r))
}

// TOL-6: PruneEphemeral removes only the ephemeral tools, once.
func TestRegistryPruneEphemeral(t *testing.T) {
	r := mustRegistry(t, named(t, "z", "1", ephemeral), named(t, "keep", "1"), named(t, "a", "1", ephemeral))
	assert.Equal(t, []string{"z", "a"}, r.PruneEphemeral())
	assert.Equal(t, []string{"keep:1"}, contents(r))
	assert.Empty(t, r.PruneEphemeral())
}

// TOL-7: a merge gives a new registry, in order, and changes none of its inputs.
func TestMergeDisjoint(t *testing.T) {
	left, right := mustRegistry(t, named(t, "a", "1", ephemeral)), mustRegistry(t, named(t, "b", "2"))
	for _, onClash := range []Collision{CollisionThrow, CollisionReplace, CollisionKeep} {
		merged, err := MergeRegistries(onClash, left, nil, right)
		require.NoError(t, err)
		assert.Equal(t, []string{"a:1", "b:2"}, contents(merged))
		assert.Equal(t, []string{"a"}, merged.PruneEphemeral())
		assert.Equal(t, []string{"a:1"}, contents(left))
		assert.Equal(t, []string{"b:2"}, contents(right))
	}
	empty, err := MergeRegistries(CollisionThrow)
	require.NoError(t, err)
	assert.Zero(t, empty.Len())
}

// TOL-7: on a clash the policy of the incoming tool decides, and then the merge's policy.
func TestMergeCollision(t *testing.T) {
	for _, c := range []struct {
		incoming, onClash Collision
		want              string
	}{
		{CollisionThrow, CollisionThrow, ""},
		{CollisionThrow, CollisionReplace, "a:2"},
		{CollisionThrow, CollisionKeep, "a:1"},
		{CollisionThrow, "nonsense", ""},
		{CollisionReplace, CollisionThrow, "a:2"},
		{CollisionReplace, CollisionKeep, "a:2"},
		{CollisionKeep, CollisionThrow, "a:1"},
		{CollisionKeep, CollisionReplace, "a:1"},
	} {
		left := mustRegistry(t, named(t, "a", "1"), named(t, "b", "1"))
		right := mustRegistry(t, named(t, "a", "2", policy(c.incoming)))
		merged, err := MergeRegistries(c.onClash, left, right)
		if c.want == "" {
			require.ErrorIs(t, err, E_TOOL_ALREADY_REGISTERED)
			assert.ErrorContains(t, err, `"a"`)
			assert.Nil(t, merged)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, []string{c.want, "b:1"}, contents(merged))
	}
}

// TOL-7: the error of a failed merge names every name that clashed, each once, in order.
func TestMergeNamesEachClashOnce(t *testing.T) {
	ab := func(result string) *Registry { return mustRegistry(t, named(t, "b", result), named(t, "a", result)) }
	_, err := MergeRegistries(CollisionThrow, ab("1"), ab("2"), ab("3"))
	require.ErrorIs(t, err, E_TOOL_ALREADY_REGISTERED)
	assert.ErrorContains(t, err, `registered already: "a", "b"; `)
}

// TOL-6: a registry is safe for concurrent use.
func TestRegistryConcurrently(t *testing.T) {
	r := mustRegistry(t, named(t, "base", "1"))
	tool := named(t, "own", "1", ephemeral)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				assert.NoError(t, r.Replace(tool))
				r.PruneEphemeral()
				r.Unregister("own")
				r.All()
				assert.True(t, r.Has("base"))
			}
		})
	}
	wg.Wait()
	r.PruneEphemeral()
	assert.Equal(t, []string{"base:1"}, contents(r))
}
