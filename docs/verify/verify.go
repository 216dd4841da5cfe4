// Verify checks receipts of a Keywarden ledger, archives of operations with their seals, and the receipts in archives of evidence, without any code of
// Keywarden. It uses only Go's checksum database packages and the standard library.
//
//	GO111MODULE=off GOPATH=/usr/share/gocode go run verify.go KEY FILE...
//
// Debian has both in golang-go and golang-golang-x-mod-dev. KEY is the public key that `keywarden ledger` prints. The exit code is 0 if every file is proven,
// 1 if one is not, and 3 if a receipt hides personal data, a day has gaps or no seal, or tables are not compared.
package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// extra is what a receipt shows beside its proof.
type extra struct {
	Content  string            `json:"content"`
	Leaf     string            `json:"leaf"`
	Personal map[string]string `json:"personal"`
	Salt     *string           `json:"salt"`
}

// event is the entry of the log with its content.
type event struct {
	At, Content, Recorded, Subject, Type string
	shown                                map[string]json.RawMessage
	hidden                               int
}

func main() {
	if len(os.Args) < 3 {
		fail("usage: verify KEY FILE...")
	}
	key, err := note.NewVerifier(os.Args[1])
	if err != nil {
		fail("the key is none: " + err.Error())
	}
	code := 0
	for _, file := range os.Args[2:] {
		said, isWhole, err := verifyFile(file, key)
		switch {
		case err != nil:
			fmt.Printf("%s: NOT PROVEN: %q\n", file, err)
			code = 1
		case !isWhole && code == 0:
			code = 3
			fallthrough
		default:
			fmt.Printf("%s: %s\n", file, said)
		}
	}
	os.Exit(code)
}

func verifyFile(file string, key note.Verifier) (said string, isWhole bool, err error) {
	if archive, err := zip.OpenReader(file); err == nil {
		defer archive.Close()
		for _, file := range archive.File {
			if !ascii.MatchString(file.Name) || bytes.Contains(file.Extra, []byte("up")) {
				return "", false, errors.New("the name of a file is not plain ASCII")
			}
		}
		return verifyArchive(archive, key)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", false, err
	}
	found, err := verify(text, key)
	return fmt.Sprintf("proven: %q of %q, at %q, recorded %q", found.Type, found.Subject, found.At, found.Recorded), found.hidden == 0, err
}

// verify returns the event that a receipt proves.
func verify(text []byte, key note.Verifier) (found event, err error) {
	head, checkpoint, isCut := bytes.Cut(text, []byte("\n\n"))
	lines := strings.Split(string(head), "\n")
	if !isCut || len(lines) < 3 || lines[0] != "c2sp.org/tlog-proof@v1" {
		return found, errors.New("it is no receipt")
	}
	shown, err := readExtra(lines[1])
	if err != nil {
		return found, err
	}
	index, err := strconv.ParseInt(strings.TrimPrefix(lines[2], "index "), 10, 64)
	if err != nil || lines[2] != "index "+strconv.FormatInt(index, 10) {
		return found, errors.New("it has no index")
	}
	var proof tlog.RecordProof
	for _, line := range lines[3:] {
		hash, err := tlog.ParseHash(line)
		if err != nil {
			return found, err
		}
		proof = append(proof, hash)
	}
	opened, err := note.Open(checkpoint, note.VerifierList(key))
	if err != nil {
		return found, err
	}
	tree, err := tlog.ParseTree([]byte("go.sum database tree\n" + strings.TrimPrefix(opened.Text, key.Name()+"\n")))
	if err != nil {
		return found, err
	}
	if err := tlog.CheckRecord(proof, tree.N, tree.Hash, index, tlog.RecordHash([]byte(shown.Leaf))); err != nil {
		return found, err
	}
	if err := json.Unmarshal([]byte(shown.Leaf), &found); err != nil {
		return found, err
	}
	if recorded, err := time.Parse(time.RFC3339, found.Recorded); err != nil || recorded.After(time.Now().Add(time.Hour)) {
		return found, errors.New("it is of a time in the future")
	}
	return found, checkContent(shown, &found)
}

// readExtra reads the event of a receipt. Its members are there once and in the order of their names, so that all readers see the same.
func readExtra(line string) (shown extra, err error) {
	encoded := strings.TrimPrefix(line, "extra ")
	text, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || encoded == line || base64.StdEncoding.EncodeToString(text) != encoded {
		return shown, errors.New("it has no event")
	}
	if err := json.Unmarshal(text, &shown); err != nil {
		return shown, err
	}
	top, err := namesOf(text)
	if err != nil || strings.Join(top, " ") != "content leaf personal salt" {
		return shown, errors.New("its event has other members")
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil {
		return shown, err
	}
	personal, err := namesOf(parts["personal"])
	if err != nil {
		return shown, err
	}
	for index := 1; index < len(personal); index++ {
		if personal[index-1] >= personal[index] {
			return shown, errors.New("its personal data is not in order")
		}
	}
	return shown, nil
}

// namesOf returns the names of an object's members as they are written.
func namesOf(text []byte) (names []string, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New("it is no object")
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		names = append(names, name.(string))
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// checkContent compares the content with the leaf, and the personal data with its salted hashes.
func checkContent(shown extra, found *event) error {
	if hexOf(shown.Content) != found.Content {
		return errors.New("its content is not the one that was recorded")
	}
	if err := json.Unmarshal([]byte(shown.Content), &found.shown); err != nil {
		return err
	}
	salted := map[string]string{}
	for name, value := range found.shown {
		var held struct{ Salted string }
		if json.Unmarshal(value, &held) == nil && held.Salted != "" {
			salted[name] = held.Salted
		}
	}
	for name, value := range shown.Personal {
		if shown.Salt == nil || salted[name] != hexOf(*shown.Salt+":"+name+":"+value) {
			return errors.New("its " + name + " is not the one that was recorded")
		}
		delete(salted, name)
	}
	found.hidden = len(salted)
	return nil
}

// verifyArchive compares the operations of each project and day with their seal. Of an archive of evidence it checks the receipts only.
func verifyArchive(archive *zip.ReadCloser, key note.Verifier) (said string, isWhole bool, err error) {
	var manifest struct {
		Kind, From, To string
		Retention      struct{ File string }
		Projects       []struct {
			Project           string
			Seals, Operations struct{ File string }
		}
	}
	text, err := fs(archive, "manifest.json")
	if err != nil {
		return "", false, err
	}
	if err := json.NewDecoder(text).Decode(&manifest); err != nil {
		return "", false, err
	}
	if manifest.Kind != "sealed-operations" {
		events := 0
		err := eachReceipt(archive, "ledger/receipts.ndjson", key, func(event) error {
			events++
			return nil
		})
		return fmt.Sprintf("proven: its %d receipts; this program does not compare the tables with them", events), false, err
	}
	from, err := time.Parse("2006-01-02", manifest.From)
	to, err2 := time.Parse("2006-01-02", manifest.To)
	if err != nil || err2 != nil || !from.Before(to) {
		return "", false, errors.New("it has no period")
	}
	listed := map[string]bool{"manifest.json": true, "VERIFY.md": true, manifest.Retention.File: true}
	projects := map[string]bool{}
	for _, part := range manifest.Projects {
		if projects[part.Project] {
			return "", false, errors.New("it has a project twice")
		}
		projects[part.Project] = true
		listed[part.Seals.File], listed[part.Operations.File] = true, true
	}
	for _, file := range archive.File {
		if !listed[file.Name] {
			return "", false, fmt.Errorf("%q is not in its manifest", file.Name)
		}
	}
	dropped := map[string]bool{}
	err = eachReceipt(archive, manifest.Retention.File, key, func(found event) error {
		var month, at string
		if found.Type != "retention.dropped" || json.Unmarshal(found.shown["month"], &month) != nil || json.Unmarshal(found.shown["dropped_at"], &at) != nil || at == "" || len(month) != 10 {
			return errors.New("it has a receipt of something else than a dropped month")
		}
		dropped[month[:7]] = true
		return nil
	})
	if err != nil {
		return "", false, err
	}
	days, missing := 0, 0
	for _, part := range manifest.Projects {
		seals, gaps, err := readSeals(archive, part.Seals.File, part.Project, key)
		if err != nil {
			return "", false, err
		}
		hashes, err := hashOperations(archive, part.Operations.File, part.Project[strings.LastIndex(part.Project, " ")+1:])
		if err != nil {
			return "", false, err
		}
		missing += gaps
		for at := from; at.Before(to); at = at.AddDate(0, 0, 1) {
			day := at.Format("2006-01-02")
			root, isSealed := seals[day]
			if !isSealed {
				missing++
			} else if dropped[day[:7]] && len(hashes[day]) == 0 && root != hexOf("") {
				missing++
			} else if root != rootOf(hashes[day]) {
				return "", false, fmt.Errorf("the operations of %s on %s are not those that were sealed", part.Project, day)
			} else {
				days++
			}
			delete(hashes, day)
		}
		if len(hashes) > 0 {
			return "", false, errors.New("it has operations outside its period")
		}
	}
	return fmt.Sprintf("proven: the operations of %d days of %d projects; %d gaps, and days without a seal or dropped", days, len(manifest.Projects), missing), missing == 0 && days > 0, nil
}

// readSeals returns the sealed root of each day of a project, and the number of gaps.
func readSeals(archive *zip.ReadCloser, name, project string, key note.Verifier) (seals map[string]string, gaps int, err error) {
	seals = map[string]string{}
	err = eachReceipt(archive, name, key, func(found event) error {
		var day, root, of, open string
		for name, to := range map[string]*string{"day": &day, "root": &root, "project": &of, "gaps": &open} {
			if err := json.Unmarshal(found.shown[name], to); err != nil {
				return err
			}
		}
		var list []json.RawMessage
		if err := json.Unmarshal([]byte(open), &list); err != nil {
			return err
		}
		if _, isTwice := seals[day]; isTwice || found.Type != "archive.sealed" || of != project {
			return errors.New("it has a seal of something else")
		}
		seals[day] = root
		gaps += len(list)
		return nil
	})
	return seals, gaps, err
}

// eachReceipt passes on the event of each receipt in a file.
func eachReceipt(archive *zip.ReadCloser, name string, key note.Verifier, use func(event) error) error {
	return eachLine(archive, name, func(line []byte) error {
		var held struct{ Receipt string }
		if err := json.Unmarshal(line, &held); err != nil {
			return err
		}
		found, err := verify([]byte(held.Receipt), key)
		if err != nil {
			return err
		}
		return use(found)
	})
}

// columns are those of a sealed operation, with PostgreSQL's numbers of their types.
var columns = []struct {
	name string
	kind uint32
}{{"id", 2950}, {"created_at", 1184}, {"branch_id", 25}, {"endpoint_id", 25}, {"action", 25}, {"status", 25}, {"failures_count", 20}, {"error", 25},
	{"retry_at", 1184}, {"updated_at", 1184}, {"total_duration_ms", 20}, {"extra", 3802}, {"seen_at", 1184}}

// hashOperations returns the hashes of a project's operations by day, newest first.
func hashOperations(archive *zip.ReadCloser, name, project string) (map[string][]tlog.Hash, error) {
	days := map[string][]tlog.Hash{}
	return days, eachLine(archive, name, func(line []byte) error {
		var row map[string]json.RawMessage
		var of, at string
		names, err := namesOf(line)
		if err != nil || json.Unmarshal(line, &row) != nil || len(names) != len(columns)+1 || len(row) != len(names) || json.Unmarshal(row["project_id"], &of) != nil || of != project || json.Unmarshal(row["created_at"], &at) != nil || len(at) < 10 {
			return errors.New("a line is no operation of its project")
		}
		record := binary.BigEndian.AppendUint32(nil, uint32(len(columns)))
		for _, column := range columns {
			value, err := encode(column.kind, row[column.name])
			if err != nil {
				return err
			}
			record = binary.BigEndian.AppendUint32(record, column.kind)
			if value == nil {
				record = binary.BigEndian.AppendUint32(record, ^uint32(0))
			} else {
				record = append(binary.BigEndian.AppendUint32(record, uint32(len(value))), value...)
			}
		}
		days[at[:10]] = append(days[at[:10]], tlog.RecordHash(record))
		return nil
	})
}

var (
	uuid    = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	ascii   = regexp.MustCompile(`^[\x20-\x7e]+$`)
	instant = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$`)
)

// encode returns a value as PostgreSQL's binary format has it; nil for a missing one.
func encode(kind uint32, value json.RawMessage) ([]byte, error) {
	if string(value) == "null" {
		return nil, nil
	}
	if kind == 3802 {
		return append([]byte{1}, value...), nil
	}
	if kind == 20 {
		number, err := strconv.ParseInt(string(value), 10, 64)
		return binary.BigEndian.AppendUint64(nil, uint64(number)), err
	}
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		return nil, err
	}
	switch kind {
	case 2950:
		if !uuid.MatchString(text) {
			return nil, errors.New("an id has another form")
		}
		return hex.DecodeString(strings.ReplaceAll(text, "-", ""))
	case 1184:
		if !instant.MatchString(text) {
			return nil, errors.New("a time has another form")
		}
		at, err := time.Parse(time.RFC3339, text)
		return binary.BigEndian.AppendUint64(nil, uint64(at.UnixMicro()-time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro())), err
	}
	return []byte(text), nil
}

// rootOf returns the root of hashes that are newest first, in hexadecimal digits.
func rootOf(hashes []tlog.Hash) string {
	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) (found []tlog.Hash, err error) {
		for _, index := range indexes {
			found = append(found, stored[index])
		}
		return found, nil
	})
	for index := range hashes {
		added, err := tlog.StoredHashesForRecordHash(int64(index), hashes[len(hashes)-1-index], reader)
		if err != nil {
			return err.Error()
		}
		stored = append(stored, added...)
	}
	if len(hashes) == 0 {
		return hexOf("")
	}
	root, err := tlog.TreeHash(int64(len(hashes)), reader)
	if err != nil {
		return err.Error()
	}
	return hex.EncodeToString(root[:])
}

func fs(archive *zip.ReadCloser, name string) (io.Reader, error) {
	var found *zip.File
	for _, file := range archive.File {
		if file.Name == name && found != nil {
			return nil, errors.New("it has the file " + name + " twice")
		}
		if file.Name == name {
			found = file
		}
	}
	if found == nil {
		return nil, errors.New("it has no file " + name)
	}
	return found.Open()
}

func eachLine(archive *zip.ReadCloser, name string, use func([]byte) error) error {
	file, err := fs(archive, name)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16_000_000)
	for lines.Scan() {
		if err := use(lines.Bytes()); err != nil {
			return err
		}
	}
	return lines.Err()
}

func hexOf(text string) string {
	hash := sha256.Sum256([]byte(text))
	return hex.EncodeToString(hash[:])
}

func fail(text string) {
	fmt.Fprintln(os.Stderr, text)
	os.Exit(2)
}
