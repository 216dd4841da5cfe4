package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/tlog"
)

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
	lines.Buffer(nil, longestLine)
	lines.Split(toLineFeed)
	for ; lines.Scan(); count++ {
		require(utf8.Valid(lines.Bytes()), "%q is not UTF-8", name)
		use(lines.Bytes())
	}
	require(lines.Err() == nil, "%v", lines.Err())
	return hex.EncodeToString(hasher.Sum(nil)), count
}

// No line of an archive is longer.
const longestLine = 16_000_000

// toLineFeed splits a text at its line feeds. A carriage return before one is part of its line.
func toLineFeed(data []byte, atEnd bool) (advance int, line []byte, err error) {
	if end := bytes.IndexByte(data, '\n'); end >= 0 {
		return end + 1, data[:end], nil
	}
	if atEnd && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
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

// openArchive returns the archive that was unpacked into a folder.
func openArchive(folder string) *archive {
	from := &archive{folder: folder, files: map[string]bool{}}
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			require(entry.Type().IsRegular(), "%q is no file", path)
			name := filepath.ToSlash(must(filepath.Rel(folder, path)))
			from.files[name] = name == "manifest.json" || name == "VERIFY.md"
		}
		return err
	})
	require(err == nil, "%v", err)
	return from
}

// verifyFolder returns what an unpacked archive proves.
func verifyFolder(folder string) (said string, isWhole bool, err error) {
	from := openArchive(folder)
	manifest := readAll(filepath.Join(folder, "manifest.json"))
	if members(manifest)["kind"] == nil {
		return from.verifyEvidence(), false, nil
	}
	said, isWhole = from.verifyOperations(members(manifest, "kind", "from", "to", "retention", "projects"))
	return said, isWhole, nil
}

// verifyEvidence checks the receipts of an archive of evidence only.
func (from *archive) verifyEvidence() string {
	events, last := 0, int64(-1)
	from.eachLine("ledger/receipts.ndjson", from.receipts("", func(found event) {
		require(found.index > last, "its receipts are not in the order of the ledger")
		events, last = events+1, found.index
	}))
	require(events > 0, "it has no receipts")
	_, seals := from.eachLine("ledger/seals-with-gaps.ndjson", from.receipts("archive.sealed", func(event) {}))
	return fmt.Sprintf("proven: its %d receipts and %d seals with gaps; this program does not compare the tables with them", events, seals)
}

// verifyOperations compares the operations of each project and day with their seal.
func (from *archive) verifyOperations(manifest object) (said string, isWhole bool) {
	first, end := day(manifest.text("from")), day(manifest.text("to"))
	require(manifest.text("kind") == "sealed-operations" && first.Before(end) && !first.AddDate(100, 0, 0).Before(end), "it has no period")
	var projects []json.RawMessage
	require(json.Unmarshal(manifest["projects"], &projects) == nil, "it has no projects")
	drops, names := map[string]int64{}, map[string]bool{}
	from.eachLineOf(manifest["retention"], "retention.ndjson", from.receipts("retention.dropped", func(found event) {
		instant(found.content.text("dropped_at"))
		drops[day(found.content.text("month")).Format("2006-01")] = found.index
	}))
	var all counts
	for index, each := range projects {
		part := members(each, "project", "seals", "operations")
		project := part.text("project")
		require(!names[project], "it has a project twice")
		names[project] = true
		seals, again, missing := from.readSeals(part["seals"], fmt.Sprintf("seals/%05d.ndjson", index+1), project)
		all.again, all.missing = all.again+again, all.missing+missing
		hashes, last := map[string][]tlog.Hash{}, ""
		from.eachLineOf(part["operations"], fmt.Sprintf("operations/%05d.ndjson", index+1), func(line []byte) {
			date, hash := hashOperation(line, project[strings.LastIndex(project, " ")+1:])
			require(last == "" || date <= last, "its operations are not newest first")
			last = date
			hashes[date] = append(hashes[date], hash)
		})
		for at := first; at.Before(end); at = at.AddDate(0, 0, 1) {
			date := at.Format("2006-01-02")
			all.compare(project, date, hashes[date], seals, drops)
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
		all.days, len(projects), manifest.text("from"), manifest.text("to"), tree, all.missing, all.again, all.before), all.missing == 0 && all.days > 0
}

// counts has the numbers of days that are proven, that were sealed again, and that were before a project; and of what is missing.
type counts struct{ days, again, before, missing int }

// compare compares the operations of a project on one day with the newest seal of that day. `drops` has the place of each month's drop in the ledger.
func (all *counts) compare(project, date string, hashes []tlog.Hash, seals map[string]seal, drops map[string]int64) {
	sealed, isSealed := seals[date]
	isDropped := drops[date[:7]] > sealed.index && sealed.operations != "0"
	switch {
	case !isSealed && len(hashes) == 0 && isBefore(date, seals):
		all.before++
	case !isSealed || isDropped && len(hashes) == 0:
		all.missing++
	default:
		isSame := sealed.root == rootOf(hashes) && sealed.operations == strconv.Itoa(len(hashes))
		require(isSame, "the operations of %s on %s are not those that were sealed", project, date)
		all.days, all.missing = all.days+1, all.missing+sealed.gaps
	}
}
