# Reads labels of scenes and what machines said about them, and prints what they found and what they missed:
#
#     labels SEED               then the lines of --labels; they are forgotten at the next one
#     run FILE KIND             then the NDJSON of `inkling run -o`. A file can have several machines: all reports are FILE's
#
# A report names a host if one of the addresses of its key is the host's. A host counts once in a run. `level` is put before
# the headings.

# ---------------------------------------------------------------- the fields of a record
# All that is known here of the records of `inkling run`.

function is_report() { return text("event_type") == "report" }
function report_time() { return seconds(text("timestamp")) }

# Seconds since 1970 of "2006-09-10T23:59:59.123456Z": days are counted in years that begin with March.
function seconds(stamp,    y, m) {
	y = substr(stamp, 1, 4) + 0
	m = substr(stamp, 6, 2) + 0
	if (m < 3) { y--; m += 12 }
	return (365 * y + int(y / 4) - int(y / 100) + int(y / 400) + int((153 * m - 457) / 5) + substr(stamp, 9, 2) - 719469) * 86400 + \
		substr(stamp, 12, 2) * 3600 + substr(stamp, 15, 2) * 60 + (substr(stamp, 18) + 0)
}

# The addresses that a report is about: those of its key.
function report_names(into,    key, n) {
	if (!match($0, /"key":[{][^}]*/)) return 0
	key = substr($0, RSTART + 7, RLENGTH - 7)
	n = 0
	while (match(key, /"(src|dst|low|high)":"[^"]*/)) {
		into[++n] = substr(key, RSTART, RLENGTH)
		sub(/.*"/, "", into[n])
		key = substr(key, RSTART + RLENGTH)
	}
	return n
}

# What a machine should report: the `detect` of a label. Machines that are not here should report no host.
function detected_by(machine) {
	if (machine ~ /^(scan|sweep|flood|brute)$/) return machine
	return machine ~ /^p2p/ ? "p2p" : ""
}

# ---------------------------------------------------------------- JSON, a line of it

function text(name) {
	if (!match($0, "\"" name "\":\"[^\"]*")) return ""
	return substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 4)
}

function number(name) {
	if (!match($0, "\"" name "\":[-0-9.]+")) return ""
	return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) + 0
}

# ---------------------------------------------------------------- counting

$1 == "labels" { split("", scene_of); split("", first); split("", twentieth); split("", due); split("", detect); next }

$1 == "run" {
	machine = $2; kind = $3
	split("", reported)
	if (!(machine in known)) { known[machine] = 1; machines[++n_machines] = machine }
	if (!(kind in known_kind)) { known_kind[kind] = 1; kinds[++n_kinds] = kind }
	next
}

/^[{]"scene"/ {
	address = text("address")
	scene = text("scene")
	if (!(scene in hosts)) { scenes[++n_scenes] = scene; hosts[scene] = 0 }
	if (text("detect") != "") wanted[scene] = text("detect")
	if (scene in wanted && text("detect") == "") next # a target: reports should name the attacker
	scene_of[address] = scene
	first[address] = number("first")
	twentieth[address] = number("twentieth_unanswered")
	due[address] = number("due")
	if (twentieth[address] != "") expected[scene]++
	hosts[scene]++
	next
}

is_report() {
	reports[machine, kind]++
	found = 0
	n = report_names(names)
	for (i = 1; i <= n; i++)
		if (names[i] in scene_of) { found = 1; hit(names[i]) }
	if (!found) others[machine, kind]++
}

function hit(address,    cell) {
	if (address in reported) return
	reported[address] = 1
	cell = machine SUBSEP kind SUBSEP scene_of[address]
	hits[cell]++
	if (first[address] != "") delays[cell, ++n_delays[cell]] = report_time() - first[address]
	# Times of records can have fewer digits than those of labels.
	if (twentieth[address] != "" && (due[address] == "" || report_time() <= due[address] + 1e-6)) in_time[cell]++
}

# ---------------------------------------------------------------- tables

# The value below which a share of n values of a cell are.
function quantile(values, cell, n, share,    i, k, v, sorted) {
	for (i = 1; i <= n; i++) {
		v = values[cell, i]
		for (k = i - 1; k >= 1 && sorted[k] > v; k--) sorted[k + 1] = sorted[k]
		sorted[k + 1] = v
	}
	k = int(share * n + .999999)
	return n ? sprintf("%.1f", sorted[k < 1 ? 1 : k]) : "-"
}

function percent(n, all) { return all ? sprintf("%.1f", 100 * n / all) : "-" }
function per_thousand(n, all) { return all ? sprintf("%.1f", 1000 * n / all) : "-" }

function heading(title) { print level (level == "" ? "##" : "#") " " title "\n" }

function detection_row(machine, kind, scene,    cell, n) {
	cell = machine SUBSEP kind SUBSEP scene
	n = hits[cell] + 0
	printf "| %s | %s | %s | %d | %d | %s | %s | %s | %s |\n", machine, scene, kind, hosts[scene], n, percent(n, hosts[scene]),
		quantile(delays, cell, n_delays[cell] + 0, .5), quantile(delays, cell, n_delays[cell] + 0, 1), percent(in_time[cell], expected[scene])
}

function detections(    m, s, k) {
	heading("Detections")
	print "Seconds are from the first packet of a host that was reported. In time: of the hosts with 20 doors without an answer,"
	print "those reported by their first packet more than 2 s after the 20th.\n"
	print "| machine | scene | kind | hosts | reported | % | median s | slowest s | % in time |"
	print "|---|---|---|---|---|---|---|---|---|"
	for (m = 1; m <= n_machines; m++)
		for (s = 1; s <= n_scenes; s++)
			if (scenes[s] in wanted && wanted[scenes[s]] == detected_by(machines[m]))
				for (k = 1; k <= n_kinds; k++)
					detection_row(machines[m], kinds[k], scenes[s])
}

# Hosts of some scenes that a machine should not have reported, in a row for each scene with any, and one for all.
function wrong_rows(machine, benign,    s, k, sum, all, line, any) {
	split("", sum)
	all = 0
	for (s = 1; s <= n_scenes; s++) {
		if (benign == (scenes[s] in wanted) || (scenes[s] in wanted && wanted[scenes[s]] == detected_by(machine))) continue
		all += hosts[scenes[s]]
		any = 0
		line = sprintf("| %s | %s | %d |", machine, scenes[s], hosts[scenes[s]])
		for (k = 1; k <= n_kinds; k++) {
			any += hits[machine, kinds[k], scenes[s]]
			sum[k] += hits[machine, kinds[k], scenes[s]]
			line = line sprintf(" %s |", per_thousand(hits[machine, kinds[k], scenes[s]], hosts[scenes[s]]))
		}
		if (any) print line
	}
	printf "| %s | all | %d |", machine, all
	for (k = 1; k <= n_kinds; k++) printf " %s |", per_thousand(sum[k], all)
	print ""
}

function wrong_table(title, benign,    m, k) {
	print ""
	heading(title)
	print "Hosts of 1,000 that were reported; scenes that are not listed have none.\n"
	printf "| machine | scene | hosts |"
	for (k = 1; k <= n_kinds; k++) printf " %s |", kinds[k]
	printf "\n|---|---|---|"
	for (k = 1; k <= n_kinds; k++) printf "---|"
	print ""
	for (m = 1; m <= n_machines; m++) wrong_rows(machines[m], benign)
}

function all_reports(    m, k) {
	print ""
	heading("Reports")
	print "All of them, and in brackets those that name no host with a label.\n"
	printf "| machine |"
	for (k = 1; k <= n_kinds; k++) printf " %s |", kinds[k]
	printf "\n|---|"
	for (k = 1; k <= n_kinds; k++) printf "---|"
	print ""
	for (m = 1; m <= n_machines; m++) {
		printf "| %s |", machines[m]
		for (k = 1; k <= n_kinds; k++) printf " %d (%d) |", reports[machines[m], kinds[k]], others[machines[m], kinds[k]]
		print ""
	}
}

END {
	if (!n_scenes || !n_machines) { print "evaluate: no labels or no runs" > "/dev/stderr"; exit 1 }
	if (level == "") print "# How well the machines detect\n"
	print "Written by `make evaluate`. Seeds " seeds "; tuning uses seeds 1 to 99.\n"
	detections()
	wrong_table("False alarms: benign hosts", 1)
	wrong_table("Hostile hosts of another kind", 0)
	all_reports()
}
