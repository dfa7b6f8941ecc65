// Package calendars compares the slices of package calendar with those that Python's zoneinfo and Java's
// java.time find. slices.py and Slices.java compute them from the rules that calendar's comment states, by
// arithmetic of their own. Both read queries from standard input and answer each with a line, as the program
// in ours does for calendar.
//
// All must have the same release of the IANA database. For Python that is easy: its package tzdata is
// installed in the release of calendar. A JDK has a release of its own. So that release is installed for
// Python, too, its zones are packed by lab/zones, and ours is built with them in the place of calendar's.
package calendars
