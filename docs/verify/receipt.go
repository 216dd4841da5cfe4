package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func must[T any](value T, err error) T {
	require(err == nil, "%v", err)
	return value
}

func require(holds bool, format string, values ...any) {
	if !holds {
		panic(fmt.Errorf(format, values...))
	}
}

type object map[string]json.RawMessage

// read returns an object whose members have different names, and these names in their order. Go's own decoder takes names of other cases too, and the last of
// several.
func read(text []byte) (found object, order []string) {
	decoder, found := json.NewDecoder(bytes.NewReader(text)), object{}
	require(must(decoder.Token()) == json.Delim('{'), "a text is no object")
	for decoder.More() {
		var value json.RawMessage
		name := must(decoder.Token()).(string)
		require(decoder.Decode(&value) == nil && found[name] == nil, "an object is cut, or has a member twice")
		require(bytes.Contains(text, []byte(`"`+name+`"`)), "the name of a member is written in another way")
		found[name], order = value, append(order, name)
	}
	must(decoder.Token())
	_, err := decoder.Token()
	require(errors.Is(err, io.EOF), "an object has something after it")
	return found, order
}

// members reads an object with exactly these members in this order, if some are given.
func members(text []byte, names ...string) object {
	found, order := read(text)
	require(len(names) == 0 || strings.Join(names, " ") == strings.Join(order, " "), "an object has other members than %q", names)
	return found
}

func (from object) text(name string) string {
	var text *string
	require(json.Unmarshal(from[name], &text) == nil && text != nil, "%q is no text", name)
	// Go reads half a character as U+FFFD.
	isSame := strings.Count(*text, "\uFFFD") == bytes.Count(from[name], []byte("\uFFFD"))
	require(isSame, "%q has half a character", name)
	return *text
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// event is an entry of the log with its content, its place, and the text of the signed tree.
type event struct {
	at, recorded, subject, kind, tree string
	index                             int64
	content                           object
	hidden                            int
	isLate                            bool
}

// open returns the event that a receipt proves.
func open(text []byte) event {
	head, checkpoint, isCut := bytes.Cut(text, []byte("\n\n"))
	lines := strings.Split(string(head), "\n")
	require(isCut && len(lines) > 2 && lines[0] == "c2sp.org/tlog-proof@v1", "it is no receipt")
	encoded := strings.TrimPrefix(lines[1], "extra ")
	decoded := must(base64.StdEncoding.Strict().DecodeString(encoded))
	require(encoded != lines[1] && base64.StdEncoding.EncodeToString(decoded) == encoded, "it has no event")
	index := must(strconv.ParseInt(strings.TrimPrefix(lines[2], "index "), 10, 64))
	require(lines[2] == fmt.Sprintf("index %d", index), "it has no index")
	var proof tlog.RecordProof
	for _, line := range lines[3:] {
		proof = append(proof, must(tlog.ParseHash(line)))
	}
	signed := must(note.Open(checkpoint, note.VerifierList(key))).Text
	tree := must(tlog.ParseTree([]byte("go.sum database tree\n" + strings.TrimPrefix(signed, key.Name()+"\n"))))
	extra := members(decoded, "content", "leaf", "personal", "salt")
	err := tlog.CheckRecord(proof, tree.N, tree.Hash, index, tlog.RecordHash([]byte(extra.text("leaf"))))
	require(err == nil, "%v", err)
	leaf := members([]byte(extra.text("leaf")), "actor", "at", "content", "recorded", "subject", "type", "v")
	found := event{at: leaf.text("at"), recorded: leaf.text("recorded"), subject: leaf.text("subject"), kind: leaf.text("type"), tree: signed, index: index}
	recorded := instant(found.recorded)
	require(!recorded.After(time.Now().Add(time.Hour)), "it is of a time in the future")
	difference := recorded.Sub(instant(found.at))
	found.isLate = difference > time.Hour || difference < -time.Hour
	require(hash(extra.text("content")) == leaf.text("content"), "its content is not the one that was recorded")
	found.content = members([]byte(extra.text("content")))
	isOfRow := found.at == found.recorded
	salted := map[string]string{}
	for name, value := range found.content {
		isOfRow = isOfRow || string(value) == `"`+found.at+`"`
		if value[0] == '{' && members(value)["salted"] != nil {
			salted[name] = members(value, "salted").text("salted")
		}
	}
	require(isOfRow, "its time is not one of its row")
	personal, order := read(extra["personal"])
	require(sort.StringsAreSorted(order) && (string(extra["salt"]) == "null" || extra.text("salt") != ""), "its event has another form")
	for name := range personal {
		// A salt has a fixed length, so that the name and the value after it cannot move.
		salt := extra.text("salt")
		require(isSalt.MatchString(salt) && salted[name] == hash(salt+":"+name+":"+personal.text(name)), "its %q is not the one that was recorded", name)
	}
	found.hidden = len(salted) - len(personal)
	return found
}

func day(text string) time.Time { return must(time.Parse("2006-01-02", text)) }

func instant(text string) time.Time { return must(time.Parse(time.RFC3339, text)) }

var isSalt = regexp.MustCompile(`^[0-9a-f]{64}$`)
