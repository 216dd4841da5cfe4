// Verify checks receipts of a Keywarden ledger without any code of Keywarden. It uses only Go's checksum database packages and the standard library.
//
//	GO111MODULE=off GOPATH=/usr/share/gocode go run verify.go KEY RECEIPT...
//
// Debian has both in golang-go and golang-golang-x-mod-dev. KEY is the public key that `keywarden ledger` prints. The exit code is 0 if every receipt is
// proven, and otherwise 1.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// extra is what a receipt shows beside its proof.
type extra struct {
	Leaf     string            `json:"leaf"`
	Content  string            `json:"content"`
	Salt     *string           `json:"salt"`
	Personal map[string]string `json:"personal"`
}

// leaf is the entry of the log.
type leaf struct {
	At, Content, Recorded, Subject, Type string
}

func main() {
	if len(os.Args) < 3 {
		fail("usage: verify KEY RECEIPT...")
	}
	key, err := note.NewVerifier(os.Args[1])
	if err != nil {
		fail("the key is none: " + err.Error())
	}
	code := 0
	for _, file := range os.Args[2:] {
		text, err := os.ReadFile(file)
		if err == nil {
			var event leaf
			if event, err = verify(text, key); err == nil {
				fmt.Printf("%s: proven: %s of %s, at %s, recorded %s\n", file, event.Type, event.Subject, event.At, event.Recorded)
				continue
			}
		}
		fmt.Printf("%s: NOT PROVEN: %s\n", file, err)
		code = 1
	}
	os.Exit(code)
}

// verify returns the event that a receipt proves.
func verify(text []byte, key note.Verifier) (event leaf, err error) {
	head, checkpoint, found := bytes.Cut(text, []byte("\n\n"))
	lines := strings.Split(string(head), "\n")
	if !found || len(lines) < 3 || lines[0] != "c2sp.org/tlog-proof@v1" {
		return event, errors.New("it is no receipt")
	}
	shown, err := readExtra(lines[1])
	if err != nil {
		return event, err
	}
	index, err := strconv.ParseInt(strings.TrimPrefix(lines[2], "index "), 10, 64)
	if err != nil {
		return event, errors.New("it has no index")
	}
	var proof tlog.RecordProof
	for _, line := range lines[3:] {
		hash, err := tlog.ParseHash(line)
		if err != nil {
			return event, err
		}
		proof = append(proof, hash)
	}
	opened, err := note.Open(checkpoint, note.VerifierList(key))
	if err != nil {
		return event, err
	}
	state := strings.Split(opened.Text, "\n")
	if len(state) != 4 || state[0] != key.Name() {
		return event, errors.New("its checkpoint is not one of that log")
	}
	size, err := strconv.ParseInt(state[1], 10, 64)
	if err != nil {
		return event, err
	}
	root, err := tlog.ParseHash(state[2])
	if err != nil {
		return event, err
	}
	if err := tlog.CheckRecord(proof, size, root, index, tlog.RecordHash([]byte(shown.Leaf))); err != nil {
		return event, err
	}
	if err := json.Unmarshal([]byte(shown.Leaf), &event); err != nil {
		return event, err
	}
	return event, checkContent(shown, event)
}

func readExtra(line string) (shown extra, err error) {
	bytes, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(line, "extra "))
	if err == nil {
		err = json.Unmarshal(bytes, &shown)
	}
	return shown, err
}

// checkContent compares the content with the leaf, and the personal data with its salted hashes.
func checkContent(shown extra, event leaf) error {
	if hexOf(shown.Content) != event.Content {
		return errors.New("its content is not the one that was recorded")
	}
	var content map[string]json.RawMessage
	if err := json.Unmarshal([]byte(shown.Content), &content); err != nil {
		return err
	}
	for name, value := range shown.Personal {
		var held struct{ Salted string }
		if shown.Salt == nil || json.Unmarshal(content[name], &held) != nil || held.Salted != hexOf(*shown.Salt+":"+name+":"+value) {
			return errors.New("its " + name + " is not the one that was recorded")
		}
	}
	return nil
}

func hexOf(text string) string {
	hash := sha256.Sum256([]byte(text))
	return hex.EncodeToString(hash[:])
}

func fail(text string) {
	fmt.Fprintln(os.Stderr, text)
	os.Exit(2)
}
