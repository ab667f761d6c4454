package sessions

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"path"
	"slices"
	"sync"

	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/internal/outlet"
)

// InMemory records hosts in the memory of the process, for tests. The zero value is ready to use.
type InMemory struct {
	// Options are the options of the traces.
	Options replay.RecordOptions

	mu    sync.Mutex
	files map[string]*bytes.Buffer
	hosts map[string]*HostRecorder
	masks *masks // shared by all hosts, so that a secret has the same placeholder in all
	err   error  // of Options; then there are no masks, and nothing is recorded
}

// Host returns the recorder of the host with the given name.
func (m *InMemory) Host(name string) *HostRecorder {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hosts == nil {
		m.hosts, m.files = map[string]*HostRecorder{}, map[string]*bytes.Buffer{}
		m.masks, m.err = newMasks(m.Options.Redact)
	}
	if m.hosts[name] == nil {
		m.hosts[name] = recordHost(name, m.open, m.masks, m.Options)
		m.hosts[name].refused = m.err
	}
	return m.hosts[name]
}

func (m *InMemory) open(file string) (io.WriteCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[file] = &bytes.Buffer{}
	return outlet.Unclosed(m.files[file]), nil
}

// Close closes the recorders of all hosts.
func (m *InMemory) Close() (err error) {
	m.mu.Lock()
	hosts := maps.Clone(m.hosts)
	m.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(hosts)) {
		err = errors.Join(err, hosts[name].Close())
	}
	return err
}

// Files returns a copy of what was written, by file name. Call it when the hosts have nothing in
// progress.
func (m *InMemory) Files() map[string][]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	files := map[string][]byte{}
	for name, content := range m.files {
		files[name] = bytes.Clone(content.Bytes())
	}
	return files
}

// Recording returns what was written, as if it were in a folder.
func (m *InMemory) Recording(folder string) *Recording {
	files := m.Files()
	var sources []corpus.Source
	for _, name := range slices.Sorted(maps.Keys(files)) {
		sources = append(sources, corpus.Source{Name: path.Join(folder, name), Size: int64(len(files[name])),
			Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files[name])), nil }})
	}
	recordings, traces := Recordings(sources)
	if len(recordings) == 0 {
		return &Recording{Folder: folder, Number: 1, Traces: traces}
	}
	return recordings[0]
}
