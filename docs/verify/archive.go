package main

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/tlog"
)

// verifyFolder checks the files of an unpacked archive: the very files that an auditor reads.
func verifyFolder(folder fs.FS) {
	text := must(fs.ReadFile(folder, "manifest.json"))
	var members map[string]any
	require(json.Unmarshal(text, &members) == nil, "its manifest.json is no object")
	if _, isOfOperations := members["kind"]; isOfOperations {
		var manifest bytes.Buffer
		must(0, json.Compact(&manifest, text))
		verifyOperations(folder, manifest.String())
		return
	}
	events, _ := receiptsOf(folder, "ledger/receipts.ndjson")
	for at := 1; at < len(events); at++ {
		require(events[at].index > events[at-1].index, "its receipts are not in the order of the ledger")
	}
	seals, _ := receiptsOf(folder, "ledger/seals-with-gaps.ndjson")
	for _, each := range seals {
		sealOf(each)
	}
	reviews := 0
	for _, each := range events {
		each.print()
		if each.Type == "review.signed" {
			name := "reviews/" + each.row["review_number"].(string) + ".json"
			document, err := fs.ReadFile(folder, name)
			require(errors.Is(err, fs.ErrNotExist) || hash(string(document)) == each.row["sha256"], "%q is not what was signed", name)
			if err == nil {
				reviews++
			}
		}
	}
	say("proven: its %d receipts, %d seals with gaps and %d documents of signed reviews", len(events), len(seals), reviews)
	prove(false, "its other files, such as tables and summaries: this program compares none of them with the events above")
}

// linesOf returns the lines of a file, and how a manifest describes it.
func linesOf(folder fs.FS, name string) (lines []string, described string) {
	text := string(must(fs.ReadFile(folder, name)))
	lines = strings.Split(text, "\n")
	count := len(lines) - 1
	require(utf8.ValidString(text) && lines[count] == "", "%q is cut, or is no UTF-8", name)
	return lines[:count], fmt.Sprintf(`{"file":"%s","records":%d,"sha256":"%s"}`, name, count, hash(text))
}

func receiptsOf(folder fs.FS, name string) (events []event, described string) {
	lines, described := linesOf(folder, name)
	for _, line := range lines {
		of := read[map[string]string](line)
		require(len(of) == 1, "a line is no receipt")
		events = append(events, open(of["receipt"]))
	}
	return events, described
}

// verifyOperations compares the operations of each project and day with the newest seal of the day. Nothing signs the manifest: it says which period and which
// projects somebody asked for. The rest of it must be what the files are.
func verifyOperations(folder fs.FS, manifest string) {
	var asked struct {
		From, To string
		Projects []struct{ Project json.RawMessage }
	}
	require(json.Unmarshal([]byte(manifest), &asked) == nil, "its manifest.json has another form")
	first, end := day(asked.From), day(asked.To)
	require(first.Before(end) && end.Before(first.AddDate(100, 0, 0)), "its period is none, or too long")
	dropped, retention := receiptsOf(folder, "retention.ndjson")
	drops := map[string]int64{} // The place of the newest drop of each month.
	for _, each := range dropped {
		month := each.row["month"].(string)
		instant(each.row["dropped_at"].(string))
		require(each.Type == "retention.dropped" && day(month).Day() == 1, "a receipt is not of a dropped month")
		if each.index > drops[month[:7]] {
			drops[month[:7]] = each.index
		}
	}
	days, again, before, parts, projects := 0, 0, 0, []string{}, map[string]bool{}
	for place, each := range asked.Projects {
		project := read[string](string(each.Project))
		found, sealPart := receiptsOf(folder, fmt.Sprintf("seals/%05d.ndjson", place+1))
		rows, rowPart := linesOf(folder, fmt.Sprintf("operations/%05d.ndjson", place+1))
		parts = append(parts, fmt.Sprintf(`{"project":%s,"seals":%s,"operations":%s}`, each.Project, sealPart, rowPart))
		projects[project] = true
		seals, firstDay := sealsOf(project, found)
		again += len(found) - len(seals)
		// The rows are newest first, and the root is over the same rows, oldest first.
		hashes, last := map[string][]tlog.Hash{}, asked.From
		for at := len(rows) - 1; at >= 0; at-- {
			date, row := hashOperation(rows[at], project[strings.LastIndex(project, " ")+1:])
			require(date >= last && date < asked.To, "its operations of %s are outside its period, or not newest first", date)
			hashes[date], last = append(hashes[date], row), date
		}
		for at := first; at.Before(end); at = at.AddDate(0, 0, 1) {
			date := at.Format("2006-01-02")
			sealed, isSealed := seals[date]
			count := len(hashes[date])
			switch {
			case !isSealed && count == 0 && date < firstDay && !seals[firstDay].created.IsZero():
				before++
			case !isSealed:
				prove(false, "%s of %q, which has no seal", date, project)
			case count == 0 && sealed.Operations > 0 && drops[date[:7]] > sealed.index:
				prove(false, "%s of %q, whose month retention has dropped", date, project)
			default:
				isSame := int64(count) == sealed.Operations && rootOf(hashes[date]) == sealed.Root
				require(isSame, "the operations of %q on %s are not those that were sealed", project, date)
				prove(sealed.isWhole, "that this is all of %s of %q: its seal covers %q, with the gaps %q", date, project, sealed.Covered, sealed.Gaps)
				days++
			}
		}
	}
	require(len(projects) == len(parts) && manifest == fmt.Sprintf(`{"kind":"sealed-operations","from":"%s","to":"%s","retention":%s,"projects":[%s]}`,
		asked.From, asked.To, retention, strings.Join(parts, ",")), "its files are not those of its manifest.json")
	must(0, fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		isNamed := name == "manifest.json" || name == "VERIFY.md" || !strings.Contains(name, `"`) && strings.Contains(manifest, `{"file":"`+name+`"`)
		require(err == nil && (entry.IsDir() || isNamed && entry.Type().IsRegular()), "%q is not in its manifest.json", name)
		return nil
	}))
	require(tree != "", "it has no receipt")
	prove(days+before > 0, "any day")
	say("proven: the operations of %d days of %d projects from %s up to %s, in the tree %q; %d days were sealed again, and %d days were before a project",
		days, len(projects), asked.From, asked.To, strings.Join(strings.Split(tree, "\n")[:2], " "), again, before)
}

// seal is the content of a seal, with what is told from it and from its event.
type seal struct {
	Covered    string `json:"covered"`
	Day        string `json:"day"`
	Gaps       string `json:"gaps"`
	Number     int64  `json:"number,string"`
	Operations int64  `json:"operations,string"`
	Project    string `json:"project"`
	Replaces   *int64 `json:"replaces,string"`
	Root       string `json:"root"`
	SealedAt   string `json:"sealed_at"`
	index      int64
	created    time.Time // When the project was created, if that was on this day.
	isWhole    bool
}

type interval struct {
	From         time.Time `json:"from"`
	FromIncluded bool      `json:"from_included"`
	Reason       string    `json:"reason,omitempty"`
	To           time.Time `json:"to"`
	ToIncluded   bool      `json:"to_included"`
}

func sealOf(from event) seal {
	of := read[seal](from.content)
	isNumbered := of.Number > 0 && from.Subject == fmt.Sprintf("operation_seal/%d", of.Number)
	isNext := of.Replaces == nil || *of.Replaces > 0 && *of.Replaces != of.Number
	require(from.Type == "archive.sealed" && isNumbered && isNext, "a receipt is of no seal, or of one with another number")
	require(of.Operations >= 0 && of.Operations < 1e15 && isSha256.MatchString(of.Root) && strings.Contains(of.Project, " "), "the seal of %q has another form", of.Day)
	at, isIncluded := day(of.Day), false
	end := at.AddDate(0, 0, 1)
	isAfter := !instant(of.SealedAt).Before(end) && !instant(from.Recorded).Before(end)
	require(isAfter, "the seal of %s is from before its end", of.Day)
	covered := read[[]interval](of.Covered)
	sort.SliceStable(covered, func(one, other int) bool {
		a, b := covered[one], covered[other]
		return a.From.Before(b.From) || a.From.Equal(b.From) && a.FromIncluded && !b.FromIncluded
	})
	// Everything before `at` is covered, and so is `at` itself if it is included.
	for _, each := range covered {
		isUtc := each.From.Location() == time.UTC && each.To.Location() == time.UTC
		isReason := each.Reason == "" || each.Reason == "not_created" || each.Reason == "deleted"
		require(isUtc && isReason, "the seal of %s has another reason, or times that are not in UTC", of.Day)
		if each.Reason == "not_created" && each.To.After(of.created) && each.To.Format("2006-01-02") == of.Day {
			of.created = each.To
		}
		isFurther := each.To.After(at) || each.To.Equal(at) && each.ToIncluded
		if isFurther && (each.From.Before(at) || each.From.Equal(at) && (isIncluded || each.FromIncluded)) {
			at, isIncluded = each.To, each.ToIncluded
		}
	}
	gaps := read[[]interval](of.Gaps)
	for _, each := range gaps {
		require(each.From.Location() == time.UTC && each.To.Location() == time.UTC, "the seal of %s has times that are not in UTC", of.Day)
	}
	of.index, of.isWhole = from.index, len(gaps) == 0 && !at.Before(end)
	return of
}

// sealsOf returns the newest seal of each day of a project, and the first of these days. The seals of a day name each other.
func sealsOf(project string, found []event) (seals map[string]seal, first string) {
	seals = map[string]seal{}
	for _, each := range found {
		next := sealOf(each)
		former, isAgain := seals[next.Day]
		require(next.Project == project, "it has a seal of the project %q", next.Project)
		isNext := !isAgain || next.Replaces != nil && *next.Replaces == former.Number && next.index > former.index
		require(isNext, "the seals of %s do not follow each other", next.Day)
		prove(isAgain || next.Replaces == nil, "%s of %q, which was sealed before", next.Day, project)
		// A day only gains operations, until retention drops its month.
		prove(next.Operations >= former.Operations, "%s of %q, sealed again with %d operations after %d", next.Day, project, next.Operations, former.Operations)
		// All seals of a day must say when the project was created: one that says so only later could hide the days before.
		if next.Replaces != nil && !next.created.Equal(former.created) {
			next.created = time.Time{}
		}
		if first == "" || next.Day < first {
			first = next.Day
		}
		seals[next.Day] = next
	}
	return seals, first
}

func day(text string) time.Time { return must(time.Parse("2006-01-02", text)) }

var isId = regexp.MustCompile(`^"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"$`)

// The columns of a sealed operation, with PostgreSQL's numbers of their types.
var columns = []struct {
	name string
	kind uint32
}{{"id", 2950}, {"created_at", 1184}, {"branch_id", 25}, {"endpoint_id", 25}, {"action", 25}, {"status", 25}, {"failures_count", 20}, {"error", 25},
	{"retry_at", 1184}, {"updated_at", 1184}, {"total_duration_ms", 20}, {"extra", 3802}, {"seen_at", 1184}}

// hashOperation returns the day and the hash of an operation of a project.
func hashOperation(line, project string) (date string, row tlog.Hash) {
	var members map[string]json.RawMessage
	require(json.Unmarshal([]byte(line), &members) == nil && len(members) == len(columns)+1, "no operation: %.80q", line)
	size := len("{")
	for name, value := range members {
		size += len(`"`+name+`":`) + len(value) + len(",")
	}
	// The last member has a brace for its comma. So nothing is there twice, or between members.
	require(size == len(line) && read[string](string(members["project_id"])) == project, "no operation of its project: %.80q", line)
	record := binary.BigEndian.AppendUint32(nil, uint32(len(columns)))
	for _, column := range columns {
		text, kind, value := string(members[column.name]), column.kind, []byte{}
		switch {
		case text == "null":
		case kind == 20:
			value = binary.BigEndian.AppendUint64(nil, uint64(read[int64](text)))
		case kind == 25:
			value = []byte(read[string](text))
		case kind == 1184: // Microseconds since 2000.
			value = binary.BigEndian.AppendUint64(nil, uint64(instant(read[string](text)).UnixMicro()-946_684_800_000_000))
		case kind == 2950:
			require(isId.MatchString(text), "no id: %.80q", text)
			value = must(hex.DecodeString(strings.Trim(strings.ReplaceAll(text, "-", ""), `"`)))
		case kind == 3802:
			require(strings.HasPrefix(text, "{"), "no object: %.80q", text)
			value = append([]byte{1}, text...)
		}
		length := len(value)
		if text == "null" {
			length = -1
		}
		record = append(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(record, kind), uint32(length)), value...)
	}
	return read[string](string(members["created_at"]))[:10], tlog.RecordHash(record)
}

// rootOf returns the root of hashes (RFC 6962, section 2.1), in hexadecimal digits: pair by pair, and what is left over goes up alone.
func rootOf(hashes []tlog.Hash) string {
	if len(hashes) == 0 {
		return hash("")
	}
	for len(hashes) > 1 {
		var next []tlog.Hash
		for ; len(hashes) > 1; hashes = hashes[2:] {
			next = append(next, tlog.NodeHash(hashes[0], hashes[1]))
		}
		hashes = append(next, hashes...)
	}
	return fmt.Sprintf("%x", hashes[0][:])
}
