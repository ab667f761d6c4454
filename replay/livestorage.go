package replay

import (
	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/storages"
)

// storage is the scripted storage with the live obligations in their places.
func (l Live) storage(scripted adk.Storage) adk.Storage {
	return storages.Mixed(l.Config.Storage, scripted, func(seam string) bool { return l.takesSeam(adk.LabelStorage, seam) })
}
