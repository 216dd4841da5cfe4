package main

import (
	"encoding/json"
	"sort"
	"time"
)

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
