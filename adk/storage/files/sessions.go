package files

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage"
	"github.com/adkreplay/adkreplay/adk/storage/internal/sessionrows"
	"github.com/adkreplay/adkreplay/internal/unescaped"
)

// Sessions returns the store of sessions in this directory: what a turn stores and what its session
// keeps are written together. It holds all sessions in memory, and reads them when the directory is
// opened.
func (d *Dir) Sessions() session.Store { return d.sessions }

// The folder of a session, within that of its tenant, has its own file, its values by the hashes of
// their keys, and its deliveries by their numbers.
const (
	sessionFile    = "session" + ending
	valueFolder    = "values"
	deliveryFolder = "deliveries"
)

func sessionFolder(id session.SessionID) string {
	return path.Join(sessionsName, escaped(id.Tenant), escaped(id.Session))
}

func valueFile(id session.SessionID, key string) string {
	return path.Join(sessionFolder(id), valueFolder, fmt.Sprintf("%x%s", storage.HashOf(key), ending))
}

func deliveryFile(d *sessionrows.Delivery) string {
	return path.Join(sessionFolder(d.SessionID()), deliveryFolder, fmt.Sprintf("%0*d%s", digits, d.Seq, ending))
}

// value is the first part of a value's file, before the body.
type value struct {
	ID      session.SessionID `json:"id"`
	Key     string            `json:"key"`
	Version int               `json:"version"`
}

// sealed returns the content of a file. Its first line is a hash that shows if the rest is what was
// written.
func sealed(head any, body []byte) ([]byte, error) {
	line, err := unescaped.Marshal(head)
	if err != nil {
		return nil, err
	}
	content := slices.Concat(line, []byte("\n"), body)
	sum := sha256.Sum256(content)
	return append([]byte(hex.EncodeToString(sum[:])+"\n"), content...), nil
}

// unsealed reads what sealed returns.
func unsealed(name string, content []byte, head any) (body []byte, err error) {
	said, rest, _ := bytes.Cut(content, []byte("\n"))
	sum := sha256.Sum256(rest)
	if hex.EncodeToString(sum[:]) == string(said) {
		line, body, _ := bytes.Cut(rest, []byte("\n"))
		if err = json.Unmarshal(line, head); err == nil {
			return body, nil
		}
	}
	return nil, &adk.Error{Code: adk.E_STORAGE_CORRUPT, Message: fmt.Sprintf("the file %.160q is not what was written", name), Cause: err}
}

// loadSessions reads all sessions, and makes their store.
func (d *Dir) loadSessions() error {
	tables := &sessionrows.Memory{
		Persist: d.persistSessions,
		Mine: func(s adk.Storage) bool {
			plan, ok := storage.PlanOf(s)
			return ok && plan.Rows() == storage.Rows(d)
		},
	}
	d.sessions = sessionrows.Of(tables)
	err := fs.WalkDir(d.root.FS(), sessionsName, func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(d.root.FS(), name)
		if err != nil {
			return err
		}
		c, err := changeIn(name, content)
		tables.Put(c)
		return err
	})
	return err
}

// changeIn parses a file.
func changeIn(name string, content []byte) (c sessionrows.Changes, err error) {
	switch folder := path.Base(path.Dir(name)); {
	case path.Base(name) == sessionFile:
		row := &sessionrows.Session{}
		_, err = unsealed(name, content, row)
		c.Sessions = append(c.Sessions, row)
	case folder == valueFolder:
		var head value
		body, failure := unsealed(name, content, &head)
		err = failure
		c.Values = append(c.Values, sessionrows.ValueChange{ID: head.ID, Key: head.Key, Value: &session.Value{Version: head.Version, Body: body}})
	case folder == deliveryFolder:
		row := &sessionrows.Delivery{}
		_, err = unsealed(name, content, row)
		c.Deliveries = append(c.Deliveries, row)
	}
	if err != nil {
		return sessionrows.Changes{}, err
	}
	return c, nil
}

// persistSessions writes the changes of a transaction.
func (d *Dir) persistSessions(ctx context.Context, c sessionrows.Changes) error {
	var all []file
	var failed []error
	add := func(name string, head any, body []byte) {
		content, err := sealed(head, body)
		failed = append(failed, err)
		all = append(all, file{name, content})
	}
	for _, d := range c.Erased {
		all = append(all, file{name: deliveryFile(d)})
	}
	for _, v := range c.Values {
		if v.Value == nil {
			all = append(all, file{name: valueFile(v.ID, v.Key)})
		} else {
			add(valueFile(v.ID, v.Key), value{v.ID, v.Key, v.Value.Version}, v.Value.Body)
		}
	}
	for _, s := range c.Sessions {
		add(path.Join(sessionFolder(s.ID), sessionFile), s, nil)
	}
	for _, d := range c.Deliveries {
		add(deliveryFile(d), d, nil)
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	return d.commit(ctx, c.Records, all)
}
