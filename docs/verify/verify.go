// Verify checks receipts of a Keywarden ledger, archives of operations with their seals, and the receipts in archives of evidence, without any code of
// Keywarden. It uses only Go's checksum database packages and the standard library. It reads archives from the folders into which they were unpacked, so that
// it checks the very files that are read.
//
//	unzip -d FOLDER keywarden-operations.zip
//	GO111MODULE=off GOPATH=/usr/share/gocode go run verify.go KEY FOLDER approval.tlog-proof
//
// Debian has both in golang-go and golang-golang-x-mod-dev. KEY is the public key that `keywarden ledger` prints. The exit code is 0 if everything is proven,
// 1 if something is not, and 3 if a receipt hides personal data, a day has gaps or no seal, or tables are not compared. It reads no cosignatures.
package main

import (
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
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// extra is what a receipt shows beside its proof.
type extra struct {
	content, leaf string
	personal      map[string]string
	salt          *string
}

// event is the entry of the log with its content, its place, and the text of the signed tree.
type event struct {
	at, content, recorded, subject, kind, tree string
	index                                      int64
	shown                                      map[string]json.RawMessage
	hidden                                     int
}

// pack is an unpacked archive: its folder, and the names of its files.
type pack struct {
	folder string
	files  map[string]bool
	key    note.Verifier
	tree   string
}

func main() {
	if len(os.Args) < 3 {
		fail("usage: verify KEY FILE_OR_FOLDER...")
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
	file, err = filepath.EvalSymlinks(file)
	if err != nil {
		return "", false, err
	}
	if about, err := os.Stat(file); err != nil {
		return "", false, err
	} else if about.IsDir() {
		return verifyPack(&pack{folder: file, files: map[string]bool{}, key: key})
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", false, err
	}
	if bytes.HasPrefix(text, []byte("PK")) {
		return "", false, errors.New("it is an archive: unpack it, and name the folder")
	}
	found, err := verify(text, key)
	return fmt.Sprintf("proven: %q of %q, at %q, recorded %q", found.kind, found.subject, found.at, found.recorded), found.hidden == 0, err
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
	if err := tlog.CheckRecord(proof, tree.N, tree.Hash, index, tlog.RecordHash([]byte(shown.leaf))); err != nil {
		return found, err
	}
	leaf, err := object([]byte(shown.leaf), "actor", "at", "content", "recorded", "subject", "type", "v")
	if err != nil {
		return found, err
	}
	found.index, found.tree = index, opened.Text
	if err := texts(leaf, map[string]*string{"at": &found.at, "content": &found.content, "recorded": &found.recorded, "subject": &found.subject, "type": &found.kind}); err != nil {
		return found, err
	}
	if recorded, err := time.Parse(time.RFC3339, found.recorded); err != nil || recorded.After(time.Now().Add(time.Hour)) {
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
	top, err := namesOf(text)
	if err != nil || strings.Join(top, " ") != "content leaf personal salt" {
		return shown, errors.New("its event has other members")
	}
	parts, err := object(text)
	if err != nil {
		return shown, err
	}
	personal, err := namesOf(parts["personal"])
	if err != nil || json.Unmarshal(parts["personal"], &shown.personal) != nil || json.Unmarshal(parts["salt"], &shown.salt) != nil {
		return shown, errors.New("its personal data has another form")
	}
	for index := 1; index < len(personal); index++ {
		if personal[index-1] >= personal[index] {
			return shown, errors.New("its personal data is not in order")
		}
	}
	return shown, texts(parts, map[string]*string{"content": &shown.content, "leaf": &shown.leaf})
}

// object reads an object whose members have different names: exactly these names, if some are given. JSON's own decoder takes names of other cases too.
func object(text []byte, names ...string) (members map[string]json.RawMessage, err error) {
	found, err := namesOf(text)
	if err != nil || json.Unmarshal(text, &members) != nil || len(members) != len(found) || len(names) > 0 && len(names) != len(found) {
		return nil, errors.New("an object has another form")
	}
	for _, name := range names {
		if _, isThere := members[name]; !isThere {
			return nil, errors.New("an object has no " + name)
		}
	}
	return members, nil
}

// texts reads members that are texts.
func texts(members map[string]json.RawMessage, wanted map[string]*string) error {
	for name, to := range wanted {
		var text *string
		if json.Unmarshal(members[name], &text) != nil || text == nil {
			return errors.New(name + " is no text")
		}
		*to = *text
	}
	return nil
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
func checkContent(shown extra, found *event) (err error) {
	if hexOf(shown.content) != found.content {
		return errors.New("its content is not the one that was recorded")
	}
	if found.shown, err = object([]byte(shown.content)); err != nil {
		return err
	}
	isOfRow := found.at == found.recorded
	for _, value := range found.shown {
		isOfRow = isOfRow || string(value) == `"`+found.at+`"`
	}
	if !isOfRow {
		return errors.New("its time is not one of its row")
	}
	salted := map[string]string{}
	for name, value := range found.shown {
		if held, err := object(value, "salted"); err == nil {
			var hash string
			if err := texts(held, map[string]*string{"salted": &hash}); err != nil {
				return err
			}
			salted[name] = hash
		}
	}
	for name, value := range shown.personal {
		// A salt has a fixed length, so that the name and the value after it cannot move.
		if shown.salt == nil || !salt.MatchString(*shown.salt) || salted[name] != hexOf(*shown.salt+":"+name+":"+value) {
			return errors.New("its " + name + " is not the one that was recorded")
		}
		delete(salted, name)
	}
	found.hidden = len(salted)
	return nil
}

// verifyPack compares the operations of each project and day with their seal. Of an archive of evidence it checks the receipts only.
func verifyPack(archive *pack) (said string, isWhole bool, err error) {
	err = filepath.WalkDir(archive.folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(archive.folder, path)
		if err != nil || !entry.Type().IsRegular() {
			return fmt.Errorf("%q is no file", path)
		}
		archive.files[filepath.ToSlash(name)] = true
		return nil
	})
	if err != nil {
		return "", false, err
	}
	text, err := os.ReadFile(filepath.Join(archive.folder, "manifest.json"))
	if err != nil {
		return "", false, err
	}
	manifest, err := object(text)
	if err != nil {
		return "", false, err
	}
	if _, isSealed := manifest["kind"]; isSealed {
		return verifyOperations(archive, text)
	}
	events, last := 0, int64(-1)
	err = eachReceipt(archive, "ledger/receipts.ndjson", func(found event) error {
		if found.index <= last {
			return errors.New("its receipts are not in the order of the ledger")
		}
		events, last = events+1, found.index
		return nil
	})
	return fmt.Sprintf("proven: its %d receipts; this program does not compare the tables with them", events), false, err
}

func verifyOperations(archive *pack, text []byte) (said string, isWhole bool, err error) {
	manifest, err := object(text, "kind", "from", "to", "retention", "projects")
	if err != nil {
		return "", false, err
	}
	var kind, first, end string
	if err := texts(manifest, map[string]*string{"kind": &kind, "from": &first, "to": &end}); err != nil {
		return "", false, err
	}
	from, err := time.Parse("2006-01-02", first)
	to, err2 := time.Parse("2006-01-02", end)
	var projects []json.RawMessage
	if err != nil || err2 != nil || !from.Before(to) || from.AddDate(100, 0, 0).Before(to) || kind != "sealed-operations" || json.Unmarshal(manifest["projects"], &projects) != nil {
		return "", false, errors.New("it has no period, or no projects")
	}
	listed := map[string]bool{"manifest.json": true, "VERIFY.md": true}
	retention, err := archive.part(manifest["retention"], "retention.ndjson", listed)
	if err != nil {
		return "", false, err
	}
	dropped := map[string]bool{}
	err = eachReceipt(archive, retention, func(found event) error {
		var month, at string
		if found.kind != "retention.dropped" || texts(found.shown, map[string]*string{"month": &month, "dropped_at": &at}) != nil || len(month) != 10 {
			return errors.New("it has a receipt of something else than a dropped month")
		}
		dropped[month[:7]] = true
		return nil
	})
	if err != nil {
		return "", false, err
	}
	names := map[string]bool{}
	days, missing, again := 0, 0, 0
	for index, each := range projects {
		part, err := object(each, "project", "seals", "operations")
		if err != nil {
			return "", false, err
		}
		var project string
		if err := texts(part, map[string]*string{"project": &project}); err != nil || names[project] {
			return "", false, errors.New("it has a project twice, or one without a name")
		}
		names[project] = true
		file, err := archive.part(part["seals"], fmt.Sprintf("seals/%05d.ndjson", index+1), listed)
		if err != nil {
			return "", false, err
		}
		seals, resealed, unknown, err := readSeals(archive, file, project)
		if err != nil {
			return "", false, err
		}
		missing, again = missing+unknown, again+resealed
		file, err = archive.part(part["operations"], fmt.Sprintf("operations/%05d.ndjson", index+1), listed)
		if err != nil {
			return "", false, err
		}
		hashes, err := hashOperations(archive, file, project[strings.LastIndex(project, " ")+1:])
		if err != nil {
			return "", false, err
		}
		for at := from; at.Before(to); at = at.AddDate(0, 0, 1) {
			day := at.Format("2006-01-02")
			sealed, isSealed := seals[day]
			if !isSealed {
				missing++
			} else if dropped[day[:7]] && len(hashes[day]) == 0 && sealed.operations != "0" {
				missing++
			} else if sealed.root != rootOf(hashes[day]) || sealed.operations != strconv.Itoa(len(hashes[day])) {
				return "", false, fmt.Errorf("the operations of %s on %s are not those that were sealed", project, day)
			} else {
				days++
				missing += sealed.gaps
			}
			delete(hashes, day)
		}
		if len(hashes) > 0 {
			return "", false, errors.New("it has operations outside its period")
		}
	}
	for name := range archive.files {
		if !listed[name] {
			return "", false, fmt.Errorf("%q is not in its manifest", name)
		}
	}
	return fmt.Sprintf("proven: the operations of %d days of %d projects from %s up to %s, in the tree %q; %d gaps, and days without a seal or dropped; %d days were sealed again",
		days, len(projects), first, end, strings.Join(strings.Split(archive.tree, "\n")[:2], " "), missing, again), missing == 0 && days > 0, nil
}

// part returns the name of a file, which the manifest describes.
func (archive *pack) part(text json.RawMessage, expected string, listed map[string]bool) (string, error) {
	described, err := object(text, "file", "records", "sha256")
	if err != nil {
		return "", err
	}
	var name, sum string
	if err := texts(described, map[string]*string{"file": &name, "sha256": &sum}); err != nil || name != expected {
		return "", errors.New("its manifest names other files than such archives have")
	}
	listed[name] = true
	file, err := archive.open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil || hex.EncodeToString(hash.Sum(nil)) != sum {
		return "", fmt.Errorf("%q is not the file that its manifest names", name)
	}
	return name, nil
}

// seal is the newest seal of a day.
type seal struct {
	number, root, operations string
	index                    int64
	gaps                     int
}

// readSeals returns the newest seal of each day of a project, how often days were sealed again, and how many former seals are missing. The seals of a day name
// each other.
func readSeals(archive *pack, name, project string) (seals map[string]seal, again, missing int, err error) {
	seals = map[string]seal{}
	err = eachReceipt(archive, name, func(found event) error {
		var day, of, open, at string
		read := seal{index: found.index}
		wanted := map[string]*string{"day": &day, "project": &of, "gaps": &open, "sealed_at": &at, "number": &read.number, "root": &read.root, "operations": &read.operations}
		if err := texts(found.shown, wanted); err != nil || found.kind != "archive.sealed" || of != project {
			return errors.New("it has a seal of something else")
		}
		begun, err := time.Parse("2006-01-02", day)
		sealed, err2 := time.Parse(time.RFC3339, at)
		var gaps []struct{ From, To time.Time }
		if err != nil || err2 != nil || sealed.Before(begun.AddDate(0, 0, 1)) || json.Unmarshal([]byte(open), &gaps) != nil {
			return errors.New("it has a seal of no day that had ended")
		}
		read.gaps = len(gaps)
		var replaces *string
		if err := json.Unmarshal(found.shown["replaces"], &replaces); err != nil {
			return err
		}
		before, isAgain := seals[day]
		switch {
		case isAgain && (replaces == nil || *replaces != before.number || before.index >= read.index):
			return errors.New("the seals of " + day + " do not follow each other")
		case isAgain:
			again++
		case replaces != nil:
			missing++
		}
		seals[day] = read
		return nil
	})
	return seals, again, missing, err
}

// eachReceipt passes on the event of each receipt in a file. All are of one signed tree.
func eachReceipt(archive *pack, name string, use func(event) error) error {
	return eachLine(archive, name, func(line []byte) error {
		held, err := object(line, "receipt")
		if err != nil {
			return err
		}
		var receipt string
		if err := texts(held, map[string]*string{"receipt": &receipt}); err != nil {
			return err
		}
		found, err := verify([]byte(receipt), archive.key)
		if err != nil {
			return err
		}
		if archive.tree != "" && archive.tree != found.tree {
			return errors.New("it has receipts of several trees")
		}
		archive.tree = found.tree
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
func hashOperations(archive *pack, name, project string) (map[string][]tlog.Hash, error) {
	days := map[string][]tlog.Hash{}
	return days, eachLine(archive, name, func(line []byte) error {
		var of, at string
		row, err := object(line)
		if err != nil || len(row) != len(columns)+1 || texts(row, map[string]*string{"project_id": &of, "created_at": &at}) != nil || of != project || len(at) < 10 {
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
	salt    = regexp.MustCompile(`^[0-9a-f]{64}$`)
	whole   = regexp.MustCompile(`^(0|-?[1-9]\d*)$`)
	uuid    = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	instant = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$`)
)

// encode returns a value as PostgreSQL's binary format has it; nil for a missing one.
func encode(kind uint32, value json.RawMessage) ([]byte, error) {
	if string(value) == "null" {
		return nil, nil
	}
	if kind == 3802 && value[0] == '{' {
		return append([]byte{1}, value...), nil
	}
	if kind == 20 && whole.Match(value) {
		number, err := strconv.ParseInt(string(value), 10, 64)
		return binary.BigEndian.AppendUint64(nil, uint64(number)), err
	}
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		return nil, err
	}
	switch kind {
	case 20, 3802:
		return nil, errors.New("a value is of another kind than its column")
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

func (archive *pack) open(name string) (*os.File, error) {
	if !archive.files[name] {
		return nil, fmt.Errorf("it has no file %q", name)
	}
	return os.Open(filepath.Join(archive.folder, filepath.FromSlash(name)))
}

func eachLine(archive *pack, name string, use func([]byte) error) error {
	file, err := archive.open(name)
	if err != nil {
		return err
	}
	defer file.Close()
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
