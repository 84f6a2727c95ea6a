# The short way in: each target installs what it needs (scripts/packages), has Meson build, and runs.

FUZZ_SECONDS ?= 600
SOAK_SECONDS ?= 3600
PREFIX ?= /usr/local

# Without the tests, unless they were set up before: a first look should not wait for them.
build:
	@scripts/packages build
	@[ -f build/build.ninja ] || scripts/configure build -Dtests=disabled
	@ninja -C build

# A million connections, and what is known of each in a few bits, beside the truth.
demo: build
	build/inkling generate -w - --flows 1M --concurrent 200k --data 1 --payload 20 | \
		build/inkling run tcp -r - --verify

test:
	@scripts/packages test
	@scripts/test

# The report of the papers' experiments, looked at with a browser.
test-browser: build
	@scripts/packages browser
	@scripts/test-browser

# Every table and figure of the papers, in under half an hour, and a report to look at.
reproduce: build
	@scripts/packages reproduce
	build/inkling-lab all --html build/report.html -o build/report.ndjson

# The portable library and its unit tests on a 64-bit ARM and a big-endian machine, both emulated. An hour or so.
test-cross:
	@scripts/packages cross
	@scripts/test-cross

# The tests of what runs in the kernel, in three of Debian's under qemu: PROGRAMS="..." instead of them. A minute and the
# tests' own time; nothing fails where it cannot be run.
test-kernels:
	@scripts/packages test && scripts/packages kernels || true
	@scripts/test-kernels $(PROGRAMS) || [ $$? = 77 ]

# Reloads, snapshots and killed tools by the thousand while the programs in the kernel are under load, and a million flows
# swept; as root. Some ten minutes.
chaos-kernel:
	@scripts/packages test
	@scripts/configure build -Dtests=enabled
	@ninja -C build inkling tests/test_kernel_chaos
	@build/tests/test_kernel_chaos build/inkling || [ $$? = 77 ]

# A cluster of six servers on loopback whose nodes are killed, fail over, restart and give slots away, under a million blobs;
# each table is compared with a local one. INK_REDIS_SERVER=valkey-server for Valkey; an hour.
chaos-redis:
	@scripts/packages test
	@scripts/configure build -Dtests=enabled
	@ninja -C build redis/inkling-redis.so tests/test_redis_cluster
	@build/tests/test_redis_cluster 1000000 || [ $$? = 77 ]

# What the shared libraries export, beside the description in abi/; a change of it is a commit's own decision.
abi: build
	@scripts/packages abi
	@scripts/abi check

abi-update: build
	@scripts/packages abi
	@scripts/abi update

fuzz:
	@scripts/packages test
	@FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/test fuzz

# Two million spoofed sources against a table for 200,000 flows, under each policy; 4 minutes of CPU, 0.7 GB in TMPDIR.
flood: build
	@tests/flood.sh build/inkling 1

# Ten million spoofed sources against the table in the kernel, beside an LRU_HASH, and in real time at nf_conntrack; six
# minutes, as root.
flood-kernel: build
	-@scripts/packages flood
	@ninja -C build tests/kernel_flood tests/kernel_conntrack
	@build/tests/kernel_flood
	@build/tests/kernel_conntrack || [ $$? = 77 ]

# A thousand million packets at the table in the kernel, whose flows come and go; ten minutes, as root.
churn-kernel: build
	@ninja -C build tests/kernel_churn
	@build/tests/kernel_churn 1000000000 131072

# The bundled machines over all scenes, with seeds that no machine was tuned with: rates of detections and false alarms.
evaluate: build
	@scripts/evaluate build/inkling

# A link that is too small, real video, a swarm, and the machines beside what this kernel has; two minutes, as root. The
# page is build/router.html.
demo-router: build
	@scripts/packages router
	@scripts/demo-router || [ $$? = 77 ]

# The policies of a router beside tail drop and the kernel's AQMs, in a kernel that has them all, under qemu: 390 cells, an
# hour or two, and where it was stopped it goes on. ROUTER="..." are arguments of scripts/evaluate-router.
evaluate-router: build
	@scripts/packages router && scripts/packages kernels
	@scripts/evaluate-router $(ROUTER) || [ $$? = 77 ]

soak: build
	@ninja -C build tests/soak
	@build/tests/soak $(SOAK_SECONDS)

build-bench:
	@scripts/packages bench
	@scripts/configure build-bench -Dbench=true -Dtests=disabled
	@ninja -C build-bench

bench: build-bench
	@build-bench/bench/ink-bench $(BENCH)

# What a packet costs in the kernel, beside the kernel's own maps; as root. Built where clang and libbpf are.
bench-kernel: build
	@[ -x build/bench/kernel/ink-bench-kernel ] || { echo "bench-kernel needs clang and libbpf"; exit 1; }
	@build/bench/kernel/ink-bench-kernel $(BENCH)
	@build/bench/kernel/ink-bench-egress

# What a step costs in redis-server, beside the same steps here and beside the server's own types; minutes.
bench-redis: build
	@scripts/packages test
	@ninja -C build bench/redis/ink-bench-redis
	@build/bench/redis/ink-bench-redis $(BENCH)

# The tool as a whole, over a capture of ten million packets.
bench-run: build-bench
	@build-bench/bench/ink-bench-run $(BENCH)

install: build
	@meson configure build -Dprefix="$(PREFIX)" -Dlibdir=lib
	@meson install -C build
	@$(if $(DESTDIR),,if [ "$$(id -u)" = 0 ]; then ldconfig; fi)

clean:
	rm -rf build build-*

.PHONY: build build-bench demo test test-browser test-cross test-kernels abi abi-update reproduce fuzz flood flood-kernel churn-kernel chaos-kernel chaos-redis evaluate demo-router evaluate-router soak bench bench-run bench-kernel bench-redis install clean
