package native

import (
	"context"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
	"github.com/adkreplay/adkreplay/adk/tools/internal/spec"
)

// Memory returns the tools for memories: list, store, update and delete.
func Memory() []*adk.Tool {
	return []*adk.Tool{listMemories(), storeMemory(), updateMemory(), deleteMemory()}
}

func shownMemory(m *adk.Memory) any {
	return jsontree.NewObject(
		pair("id", m.ID()), pair("content", m.Content().String()), pair("confidence", m.Confidence()), pair("importance", m.Importance()),
		pair("createdAt", moment(m.CreatedAt())), pair("updatedAt", moment(m.UpdatedAt())),
	)
}

func listMemories() *adk.Tool {
	return listing("list_memories", "Lists all memories that are kept, with their ids for update_memory and delete_memory.", adk.Handle.Memories, shownMemory)
}

func confidence() spec.Arg {
	return spec.Number("confidence", "how sure it is, 0 to 1").Within(0, 1)
}

func importance() spec.Arg {
	return spec.Number("importance", "how much it matters, 0 to 1").Within(0, 1)
}

func storeMemory() *adk.Tool {
	return spec.Tool{
		Name:        "store_memory",
		Description: "Keeps a fact beyond this conversation, with how sure it is and how much it matters (0 to 1).",
		Args: []spec.Arg{
			spec.Text("content", "the fact").NotEmpty().Required(), confidence().Required(), importance().Required(), spec.Text("id", "an id of your own; made if it is not given"),
		},
		Writes: true, JSON: true,
		Answer: func(ctx context.Context, c spec.Call) (string, error) {
			now := c.DC.Now()
			memory, err := adk.NewMemory(adk.MemoryInit{
				ID: idOr(c), Content: c.Text("content"), Confidence: given(c, "confidence", nil), Importance: given(c, "importance", nil), CreatedAt: now, UpdatedAt: now,
			})
			if err != nil {
				return "", err
			}
			if err := c.DC.Memories().Store(ctx, memory); err != nil {
				return "", err
			}
			return done("memory", shownMemory(memory)), nil
		},
	}.Make()
}

func updateMemory() *adk.Tool {
	return spec.Tool{
		Name:        "update_memory",
		Description: "Changes some of a memory that is kept; what is not given stays.",
		Args: []spec.Arg{
			spec.Text("id", "the id of the memory").Required(), spec.Text("content", "the fact as it is now").NotEmpty(), confidence(), importance(),
		},
		Writes: true, JSON: true,
		Answer: func(ctx context.Context, c spec.Call) (string, error) {
			memory, err := found(ctx, c.DC.Memories(), "memory", c.Text("id"))
			if err != nil {
				return "", err
			}
			init := memory.Init()
			init.Content = textOr(c, "content", init.Content)
			init.Confidence, init.Importance = given(c, "confidence", init.Confidence), given(c, "importance", init.Importance)
			init.UpdatedAt = after(c.DC.Now(), init.CreatedAt)
			if memory, err = adk.NewMemory(init); err != nil {
				return "", err
			}
			if err := c.DC.Memories().Mutate(ctx, memory); err != nil {
				return "", err
			}
			return done("memory", shownMemory(memory)), nil
		},
	}.Make()
}

func deleteMemory() *adk.Tool {
	return deleting("delete_memory", "Forgets a memory. An id that is not known is fine.", "id", spec.Text("id", "the id of the memory"), adk.Handle.Memories)
}
