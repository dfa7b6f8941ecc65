import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.time.DayOfWeek;
import java.time.Instant;
import java.time.LocalDate;
import java.time.MonthDay;
import java.time.YearMonth;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.time.temporal.TemporalAdjusters;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneRulesProvider;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Answers queries of package calendars with java.time. A line asks "zone unit anchor milliseconds" and is answered by
 * "start end". With the argument release it prints the release of the JDK's zones.
 */
public class Slices {
    public static void main(String[] args) throws IOException {
        if (args.length > 0) {
            System.out.println(ZoneRulesProvider.getVersions("UTC").lastKey());
            return;
        }
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        StringBuilder out = new StringBuilder();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] q = line.split(" ");
            ZonedDateTime now = Instant.ofEpochMilli(Long.parseLong(q[3])).atZone(ZoneId.of(q[0]));
            Instant[] slice = q[1].equals("h") ? hour(now) : days(now, q[1], q[2]);
            out.append(slice[0].toEpochMilli()).append(' ').append(slice[1].toEpochMilli()).append('\n');
        }
        System.out.print(out);
    }

    /** A full hour of the clock, cut off where the offset changes within it. */
    static Instant[] hour(ZonedDateTime now) {
        Instant instant = now.toInstant();
        Instant full = instant.minusNanos(now.toLocalTime().toNanoOfDay() % 3_600_000_000_000L);
        Instant start = full;
        Instant end = full.plusSeconds(3600);
        ZoneOffsetTransition before = now.getZone().getRules().previousTransition(instant.plusNanos(1));
        if (before != null && before.getInstant().isAfter(start)) {
            start = before.getInstant();
        }
        ZoneOffsetTransition after = now.getZone().getRules().nextTransition(instant);
        if (after != null && after.getInstant().isBefore(end)) {
            end = after.getInstant();
        }
        return new Instant[] {start, end};
    }

    /** The last start of a first day up to now, and the first one after it. */
    static Instant[] days(ZonedDateTime now, String unit, String anchor) {
        Instant start = Instant.MIN;
        Instant end = Instant.MAX;
        Instant instant = now.toInstant();
        for (LocalDate day : (Iterable<LocalDate>) firstDays(now.toLocalDate(), unit, anchor)::iterator) {
            Instant begin = day.atStartOfDay(now.getZone()).toInstant();
            if (!begin.isAfter(instant)) {
                start = begin.isAfter(start) ? begin : start;
            } else {
                end = begin.isBefore(end) ? begin : end;
            }
        }
        return new Instant[] {start, end};
    }

    /** Days on which slices begin: some before today and some after it. */
    static Stream<LocalDate> firstDays(LocalDate today, String unit, String anchor) {
        return IntStream.rangeClosed(-2, 3).mapToObj(n -> {
            switch (unit) {
                case "d":
                    return today.plusDays(n);
                case "w":
                    return today.plusWeeks(n).with(TemporalAdjusters.previousOrSame(weekday(anchor)));
                case "mo":
                    YearMonth month = YearMonth.from(today).plusMonths(n);
                    return month.atDay(Math.min(Integer.parseInt(anchor), month.lengthOfMonth()));
                default:
                    return MonthDay.parse("--" + anchor).atYear(today.getYear() + n);
            }
        });
    }

    static DayOfWeek weekday(String name) {
        return Stream.of(DayOfWeek.values()).filter(d -> d.name().toLowerCase().startsWith(name)).findFirst().get();
    }
}
