// Verify checks receipts of a Keywarden ledger, archives of operations with their seals, and the receipts in archives of evidence, without any code of
// Keywarden. It uses only Go's checksum database packages and the standard library. It reads archives from the folders into which they were unpacked, so that
// it checks the very files that are read.
//
//	unzip -d FOLDER keywarden-operations.zip
//	GO111MODULE=off GOPATH=/usr/share/gocode go run verify.go KEY FOLDER approval.tlog-proof
//
// After the receipt of its export it also proves that any file is as it was exported: KEY export.tlog-proof keywarden-keys.csv.
//
// Debian has both in golang-go and golang-golang-x-mod-dev. KEY is the public key that `keywarden ledger` prints. The exit code is 0 if everything is proven,
// 1 if something is not, and 3 if a receipt hides personal data or was not made at the time of its row, a day has gaps or no seal, or tables are not compared.
// It reads no cosignatures, and no VERIFY.md.
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
	"sort"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

var key note.Verifier

// exported has the time of each export whose receipt was read, by the SHA-256 of its file; unused has those of which no file was read.
var exported, unused, hasOthers = map[string]string{}, map[string]bool{}, false

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: verify KEY FILE_OR_FOLDER...")
		os.Exit(2)
	}
	var err error
	if key, err = note.NewVerifier(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "the key is none:", err)
		os.Exit(2)
	}
	code := 0
	for _, file := range os.Args[2:] {
		said, isWhole, err := verify(file)
		if err != nil {
			said, code = fmt.Sprintf("NOT PROVEN: %q", err), 1
		} else if !isWhole && code == 0 {
			code = 3
		}
		fmt.Printf("%s: %s\n", file, said)
	}
	if len(unused) > 0 && hasOthers && code == 0 {
		fmt.Println("not proven: the file of an export, whose receipt is here, was not named")
		code = 3
	}
	os.Exit(code)
}

// verify returns what a file or folder proves. Every check below that fails ends here.
func verify(path string) (said string, isWhole bool, err error) {
	defer func() {
		if failed := recover(); failed != nil {
			err = fmt.Errorf("%v", failed)
		}
	}()
	path = must(filepath.EvalSymlinks(path))
	if must(os.Stat(path)).IsDir() {
		hasOthers = true
		return verifyFolder(path)
	}
	text := must(os.ReadFile(path))
	sum, isArchive := hash(string(text)), bytes.HasPrefix(text, []byte("PK"))
	if at, isExported := exported[sum]; isExported {
		delete(unused, sum)
		hasOthers = true
		more := map[bool]string{true: "; its contents are compared only in the folder of its files", false: ""}[isArchive]
		return fmt.Sprintf("proven: it is the file that the report exported, as recorded at %q%s", at, more), !isArchive, nil
	}
	require(!isArchive, "it is an archive: unpack it, and name the folder, or name the receipt of its export before it")
	found := open(text)
	if found.kind == "export.completed" {
		sum := found.content.text("sha256")
		exported[sum], unused[sum] = found.recorded, true
	}
	return fmt.Sprintf("proven: %q of %q, recorded %q; it says that it was at %q", found.kind, found.subject, found.recorded, found.at), found.hidden == 0 && !found.isLate, nil
}

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

// archive is an unpacked archive: its folder, and whether each of its files is described.
type archive struct {
	folder, tree string
	files        map[string]bool
}

// eachLine passes on the lines of a file. It returns the file's SHA-256 and the number of its lines.
func (from *archive) eachLine(name string, use func([]byte)) (sum string, count int) {
	_, isThere := from.files[name]
	require(isThere, "it has no file %q", name)
	file := must(os.Open(filepath.Join(from.folder, filepath.FromSlash(name))))
	defer file.Close()
	hasher := sha256.New()
	lines := bufio.NewScanner(io.TeeReader(file, hasher))
	lines.Buffer(nil, 16_000_000)
	for ; lines.Scan(); count++ {
		use(lines.Bytes())
	}
	require(lines.Err() == nil, "%v", lines.Err())
	return hex.EncodeToString(hasher.Sum(nil)), count
}

// eachLineOf passes on the lines of a file that the manifest describes.
func (from *archive) eachLineOf(text []byte, name string, use func([]byte)) {
	described := members(text, "file", "records", "sha256")
	require(described.text("file") == name, "its manifest names other files than such archives have")
	sum, count := from.eachLine(name, use)
	isSame := sum == described.text("sha256") && strconv.Itoa(count) == string(described["records"])
	require(isSame, "%q is not the file that its manifest names", name)
	from.files[name] = true
}

// receipts returns a reader of lines that are receipts of a kind of event, or of any. All are of one signed tree.
func (from *archive) receipts(kind string, use func(event)) func([]byte) {
	return func(line []byte) {
		found := open([]byte(members(line, "receipt").text("receipt")))
		require(from.tree == "" || from.tree == found.tree, "it has receipts of several trees")
		require(kind == "" || kind == found.kind, "it has a receipt of something else than %q", kind)
		from.tree = found.tree
		use(found)
	}
}

// verifyFolder compares the operations of each project and day with their seal. Of an archive of evidence it checks the receipts only.
func verifyFolder(folder string) (said string, isWhole bool, err error) {
	from := &archive{folder: folder, files: map[string]bool{}}
	err = filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			require(entry.Type().IsRegular(), "%q is no file", path)
			from.files[filepath.ToSlash(must(filepath.Rel(folder, path)))] = path == filepath.Join(folder, "manifest.json") || path == filepath.Join(folder, "VERIFY.md")
		}
		return err
	})
	require(err == nil, "%v", err)
	text := must(os.ReadFile(filepath.Join(folder, "manifest.json")))
	if members(text)["kind"] == nil {
		events, last := 0, int64(-1)
		from.eachLine("ledger/receipts.ndjson", from.receipts("", func(found event) {
			require(found.index > last, "its receipts are not in the order of the ledger")
			events, last = events+1, found.index
		}))
		_, seals := from.eachLine("ledger/seals-with-gaps.ndjson", from.receipts("archive.sealed", func(event) {}))
		return fmt.Sprintf("proven: its %d receipts and %d seals with gaps; this program does not compare the tables with them", events, seals), false, nil
	}
	manifest := members(text, "kind", "from", "to", "retention", "projects")
	first, end := day(manifest.text("from")), day(manifest.text("to"))
	var projects []json.RawMessage
	require(manifest.text("kind") == "sealed-operations" && first.Before(end) && !first.AddDate(100, 0, 0).Before(end), "it has no period")
	require(json.Unmarshal(manifest["projects"], &projects) == nil, "it has no projects")
	drops, names := map[string]int64{}, map[string]bool{}
	from.eachLineOf(manifest["retention"], "retention.ndjson", from.receipts("retention.dropped", func(found event) {
		instant(found.content.text("dropped_at"))
		drops[day(found.content.text("month")).Format("2006-01")] = found.index
	}))
	days, before, missing, again := 0, 0, 0, 0
	for index, each := range projects {
		part := members(each, "project", "seals", "operations")
		project := part.text("project")
		require(!names[project], "it has a project twice")
		names[project] = true
		seals, resealed, unknown := from.readSeals(part["seals"], fmt.Sprintf("seals/%05d.ndjson", index+1), project)
		missing, again = missing+unknown, again+resealed
		hashes := map[string][]tlog.Hash{}
		from.eachLineOf(part["operations"], fmt.Sprintf("operations/%05d.ndjson", index+1), func(line []byte) {
			date, hash := hashOperation(line, project[strings.LastIndex(project, " ")+1:])
			hashes[date] = append(hashes[date], hash)
		})
		for at := first; at.Before(end); at = at.AddDate(0, 0, 1) {
			date := at.Format("2006-01-02")
			sealed, isSealed := seals[date]
			if !isSealed && len(hashes[date]) == 0 && isBefore(date, seals) {
				before++
			} else if !isSealed || drops[date[:7]] > sealed.index && len(hashes[date]) == 0 && sealed.operations != "0" {
				missing++
			} else {
				isSame := sealed.root == rootOf(hashes[date]) && sealed.operations == strconv.Itoa(len(hashes[date]))
				require(isSame, "the operations of %s on %s are not those that were sealed", project, date)
				days, missing = days+1, missing+sealed.gaps
			}
			delete(hashes, date)
		}
		require(len(hashes) == 0, "it has operations outside its period")
	}
	require(from.tree != "", "it has no receipts")
	for name, isDescribed := range from.files {
		require(isDescribed, "%q is not in its manifest", name)
	}
	tree := strings.Join(strings.Split(from.tree, "\n")[:2], " ")
	return fmt.Sprintf("proven: the operations of %d days of %d projects from %s up to %s, in the tree %q; %d gaps, times that seals do not claim, and days without a seal or dropped; %d days were sealed again, and %d days were before a project",
		days, len(projects), manifest.text("from"), manifest.text("to"), tree, missing, again, before), missing == 0 && days > 0, nil
}

func day(text string) time.Time { return must(time.Parse("2006-01-02", text)) }

func instant(text string) time.Time { return must(time.Parse(time.RFC3339, text)) }

type interval struct {
	From, To     time.Time
	FromIncluded bool `json:"from_included"`
	ToIncluded   bool `json:"to_included"`
	Reason       string
}

// unclaimed counts the times of a day that are in none of some intervals. `begin` and what is before it are claimed or counted, `begin` itself if it is included.
func unclaimed(begin time.Time, intervals []interval) int {
	end, count, isIncluded := begin.AddDate(0, 0, 1), 0, false
	intervals = append(intervals, interval{From: end, To: end, FromIncluded: true, ToIncluded: true})
	sort.SliceStable(intervals, func(a, b int) bool {
		one, other := intervals[a], intervals[b]
		return one.From.Before(other.From) || one.From.Equal(other.From) && one.FromIncluded && !other.FromIncluded
	})
	for _, each := range intervals {
		if each.From.After(begin) || each.From.Equal(begin) && !isIncluded && !each.FromIncluded {
			count++
		}
		if each.To.After(begin) {
			begin, isIncluded = each.To, each.ToIncluded
		} else if each.To.Equal(begin) && each.ToIncluded {
			isIncluded = true
		}
	}
	return count
}

// seal is the newest seal of a day. Its gaps count the times too of which it says nothing. `created` is empty unless all seals of the day say that the project was created then.
type seal struct {
	number, root, operations string
	index                    int64
	gaps                     int
	created                  string
}

// readSeals returns the newest seal of each day of a project, how often days were sealed again, and how many former seals are missing. The seals of a day name
// each other.
func (from *archive) readSeals(described []byte, name, project string) (seals map[string]seal, again, missing int) {
	seals = map[string]seal{}
	from.eachLineOf(described, name, from.receipts("archive.sealed", func(found event) {
		content, date := found.content, found.content.text("day")
		require(content.text("project") == project, "it has a seal of another project")
		require(!instant(content.text("sealed_at")).Before(day(date).AddDate(0, 0, 1)), "it has a seal of a day that had not ended")
		var gaps, covered []interval
		require(json.Unmarshal([]byte(content.text("gaps")), &gaps) == nil && json.Unmarshal([]byte(content.text("covered")), &covered) == nil, "it has a seal of another form")
		before, isAgain := seals[date]
		if isAgain {
			require(content.text("replaces") == before.number && before.index < found.index, "the seals of %s do not follow each other", date)
			again++
		} else if string(content["replaces"]) != "null" {
			missing++
		}
		if found.isLate {
			missing++
		}
		sealed := seal{content.text("number"), content.text("root"), content.text("operations"), found.index, len(gaps), ""}
		for _, each := range covered {
			created := each.To.Format(time.RFC3339Nano)
			if each.Reason == "not_created" && created[:10] == date && (created == before.created || string(content["replaces"]) == "null") {
				sealed.created = created
			}
		}
		sealed.gaps += unclaimed(day(date), append(covered, gaps...))
		seals[date] = sealed
	}))
	return seals, again, missing
}

// isBefore returns whether a day is before the first one of a project, if the seals of that day say that it was created then.
func isBefore(date string, seals map[string]seal) bool {
	first := ""
	for sealed := range seals {
		if first == "" || sealed < first {
			first = sealed
		}
	}
	return date < first && seals[first].created != ""
}

// columns are those of a sealed operation, with PostgreSQL's numbers of their types.
var columns = []struct {
	name string
	kind uint32
}{{"id", 2950}, {"created_at", 1184}, {"branch_id", 25}, {"endpoint_id", 25}, {"action", 25}, {"status", 25}, {"failures_count", 20}, {"error", 25},
	{"retry_at", 1184}, {"updated_at", 1184}, {"total_duration_ms", 20}, {"extra", 3802}, {"seen_at", 1184}}

// hashOperation returns the day and the hash of an operation of a project.
func hashOperation(line []byte, project string) (date string, hash tlog.Hash) {
	row := members(line)
	require(len(row) == len(columns)+1 && row.text("project_id") == project, "a line is no operation of its project")
	record := binary.BigEndian.AppendUint32(nil, uint32(len(columns)))
	for _, column := range columns {
		require(row[column.name] != nil, "an operation has no %q", column.name)
		record = binary.BigEndian.AppendUint32(record, column.kind)
		if string(row[column.name]) == "null" {
			record = binary.BigEndian.AppendUint32(record, ^uint32(0))
			continue
		}
		value := encode(column.kind, row, column.name)
		record = append(binary.BigEndian.AppendUint32(record, uint32(len(value))), value...)
	}
	return row.text("created_at")[:10], tlog.RecordHash(record)
}

var (
	isSalt    = regexp.MustCompile(`^[0-9a-f]{64}$`)
	isWhole   = regexp.MustCompile(`^(0|-?[1-9]\d*)$`)
	isUuid    = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	isInstant = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$`)
)

// encode returns a value as PostgreSQL's binary format has it.
func encode(kind uint32, row object, name string) []byte {
	switch kind {
	case 3802:
		require(row[name][0] == '{', "%q is no object", name)
		return append([]byte{1}, row[name]...)
	case 20:
		require(isWhole.Match(row[name]), "%q is no number", name)
		return binary.BigEndian.AppendUint64(nil, uint64(must(strconv.ParseInt(string(row[name]), 10, 64))))
	case 2950:
		require(isUuid.MatchString(row.text(name)), "%q has another form", name)
		return must(hex.DecodeString(strings.ReplaceAll(row.text(name), "-", "")))
	case 1184:
		require(isInstant.MatchString(row.text(name)), "%q has another form", name)
		at := must(time.Parse(time.RFC3339, row.text(name)))
		return binary.BigEndian.AppendUint64(nil, uint64(at.UnixMicro()-time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()))
	}
	return []byte(row.text(name))
}

// rootOf returns the root of hashes that are newest first, in hexadecimal digits.
func rootOf(hashes []tlog.Hash) string {
	if len(hashes) == 0 {
		return hash("")
	}
	root := treeHash(hashes)
	return hex.EncodeToString(root[:])
}

// treeHash returns the hash of the tree of hashes that are newest first (RFC 6962, section 2.1).
func treeHash(hashes []tlog.Hash) tlog.Hash {
	if len(hashes) == 1 {
		return hashes[0]
	}
	left := 1
	for left*2 < len(hashes) {
		left *= 2
	}
	split := len(hashes) - left
	return tlog.NodeHash(treeHash(hashes[split:]), treeHash(hashes[:split]))
}
