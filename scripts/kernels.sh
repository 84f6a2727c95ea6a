# kernels.sh: fetches Debian's kernels, makes an initramfs of files of this machine, and boots both under qemu. Sourced by
# scripts that run something in a kernel of its own; a script sets before, or has:
#
#   work        the folder for what is made
#   modules     what may be asked of the kernel; those that they need are found by modprobe, and some are built in
#   tools       programs for the initramfs; /bin/busybox stands in for all others
#   remark      a function: notes lines for the end of the run
#
#   bookworm             6.1, of Debian 12 and its security updates
#   bookworm-backports   the newest that Debian 12 can have
#   trixie-backports     the newest that Debian 13 can have
#
#   $INK_KERNELS/KERNEL/apt/           lists and sources for apt, apart from those of the system
#   $INK_KERNELS/KERNEL/VERSION/       the packages of the kernel, unpacked; nothing is installed
#
# INK_KERNELS is ~/.cache/inkling/kernels unless it is set. The packages come from where apt has the system's own from, or
# from INK_KERNELS_MIRROR; apt checks their signatures. Without a network, the newest version that is there is used.
folder=${INK_KERNELS:-${XDG_CACHE_HOME:-$HOME/.cache}/inkling/kernels}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
known=(bookworm bookworm-backports trixie-backports)

needs() { # PROGRAM...: the first that is not there, if one is not
	local name
	for name in qemu-system-x86_64 apt-get dpkg-deb busybox cpio depmod modprobe xz "$@"; do
		type -P "$name" >/dev/null || { echo "$name"; return; }
	done
	[ -f "$keyring" ] || echo "$keyring"
}

# ---- Kernels ---------------------------------------------------------------------------------------------------------

sources() { # KERNEL: for apt, those of its release and, if it is a stable one, of its security updates
	local offered url
	offered=$(apt-get update --print-uris | sed -n "s|^'\(.*\)/dists/\([^/]*\)/InRelease'.*|\2 \1|p")
	url=${INK_KERNELS_MIRROR:-$(awk '$1 ~ /^(bookworm|trixie|forky)$/ { print $2; exit }' <<<"$offered")}
	[ -n "$url" ] || return 1
	echo "deb [signed-by=$keyring] $url $1 main"
	awk -v release="$1-security" -v signed="[signed-by=$keyring]" \
		'$1 == release { print "deb", signed, $2, release, "main" }' <<<"$offered"
}

own_apt() { # KERNEL apt-get|apt-cache ARGUMENT...: with its own lists and sources, as if nothing were installed
	local at=$folder/$1/apt program=$2
	shift 2
	"$program" -o Dir::State="$at/state" -o Dir::State::status=/dev/null -o Dir::Cache="$at/cache" \
		-o Dir::Etc::sourcelist="$at/sources.list" -o Dir::Etc::sourceparts="$at/none" \
		-o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts="$at/none" \
		-o APT::Sandbox::User=root -o APT::Architecture=amd64 -o APT::Architectures=amd64 "$@"
}

renew() { # KERNEL: what there is to fetch. apt takes names that have moved for success, so errors are asked for.
	local at=$folder/$1/apt
	mkdir -p "$at/state/lists/partial" "$at/cache/archives/partial" "$at/none"
	sources "$1" >"$at/sources.list" && own_apt "$1" apt-get update -qq --error-on=any >"$at/log" 2>&1
}

packages() { # KERNEL: those with the files of its cloud kernel. Since 6.17 they are several.
	own_apt "$1" apt-cache depends --recurse --important linux-image-cloud-amd64 |
		grep -E '^linux-(image|base|binary|modules)-[0-9].*-cloud-amd64$' | sort -u
}

download() { # KERNEL FOLDER
	local names
	mapfile -t names < <(packages "$1")
	[ ${#names[@]} -gt 0 ] && (cd "$2" && own_apt "$1" apt-get download -qq "${names[@]}" >"$2/log" 2>&1)
}

unpack() { # KERNEL FOLDER: its packages, into FOLDER/root
	local package
	download "$1" "$2" || { tail -n 3 "$2/log" >&2; return 1; }
	for package in "$2"/*.deb; do dpkg-deb -x "$package" "$2/root" || return; done
	[ -e "$2/root/lib" ] || ln -s usr/lib "$2/root/lib"
	depmod -b "$2/root" "$(basename "$2"/root/lib/modules/*)"
}

replace() { # KERNEL VERSION: older versions go. The folder gets its name when all of it is there.
	local at=$folder/$1 fresh code=0
	echo "Fetching Linux $2 into $at ..."
	fresh=$(mktemp -d "$at/fresh.XXXXXX")
	unpack "$1" "$fresh" && find "$at" -mindepth 1 -maxdepth 1 -name '[0-9]*' -exec rm -rf {} + &&
		mv -T "$fresh/root" "$at/$2" || code=1
	rm -rf "$fresh"
	return $code
}

fetch() { # KERNEL: the newest, if it is not there yet
	local version
	renew "$1" || { remark "$1: no list of packages${INK_KERNELS_MIRROR:+ at $INK_KERNELS_MIRROR}"; return; }
	version=$(own_apt "$1" apt-cache show --no-all-versions linux-image-cloud-amd64 | sed -n 's/^Version: //p')
	[ -n "$version" ] || { remark "$1: no cloud kernel among the packages"; return; }
	[ -d "$folder/$1/$version" ] || replace "$1" "$version" || remark "$1: Linux $version cannot be fetched"
}

unpacked() { # KERNEL: the folder of the version that is there
	find "$folder/$1" -mindepth 1 -maxdepth 1 -name '[0-9]*' 2>/dev/null | sed -n 1p
}

image() { # FOLDER RELEASE: the kernel itself, where old and new packages have it
	local file
	for file in "$1/boot/vmlinuz-$2" "$1/lib/modules/$2/vmlinuz"; do
		if [ -f "$file" ]; then echo "$file"; fi
	done
}

# ---- The initramfs ---------------------------------------------------------------------------------------------------

archive() { # FOLDER: as the kernel wants it
	(cd "$1" && find . -print0 | sort -z | cpio --null --create --format=newc --owner=0:0 --quiet)
}

copies() { # FOLDER: of the files named, each under its path here; links become what they point to
	xargs -d '\n' -r cp -rL --parents -t "$1"
}

libraries() { # that the programs named need
	{ xargs -d '\n' -r ldd 2>/dev/null || true; } | sed -nE 's|^\s(.* => )?(/[^ ]*) \(0x.*|\2|p' | sort -u
}

skeleton() { # FOLDER INIT: what every system has, and its first process
	local root=$1 name
	mkdir -p "$root"/{dev,proc,sys,run,tmp,root,etc,usr/{bin,sbin,lib,lib64}}
	for name in bin sbin lib lib64; do ln -s "usr/$name" "$root/$name"; done
	echo "root:x:0:0:root:/root:/bin/sh
nobody:x:65534:65534:nobody:/:/bin/sh" >"$root/etc/passwd"
	echo "root:x:0:
nogroup:x:65534:" >"$root/etc/group"
	echo "127.0.0.1 localhost" >"$root/etc/hosts"
	install -m 755 "$2" "$root/init"
}

install_tools() { # FOLDER FILE...: the tools, and the files that these lists name; busybox is where no tool was copied
	local root=$1 name
	shift
	for name in "${tools[@]}"; do type -P "$name" || true; done >"$work/tools"
	sort -u "$work/tools" "$@" | copies "$root"
	sort -u "$work/tools" "$@" | libraries | copies "$root"
	ln -sf bash "$root/bin/sh" # busybox's shell takes its own ip, whatever stands in the PATH
	cp -L "$(type -P busybox)" "$root/bin/"
	busybox --list-full | while read -r name; do
		[ -e "$root/$name" ] || [ -e "$root/usr/bin/${name##*/}" ] || ln -s /bin/busybox "$root/$name"
	done
}

needed_modules() { # FOLDER RELEASE: files of the modules, each after those that it needs
	local name
	for name in "${modules[@]}"; do
		modprobe -C /dev/null -d "$1" -S "$2" --show-depends "$name" 2>/dev/null || true
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

with_modules() { # KERNEL FOLDER RELEASE: the modules, without compression, behind the part that all share
	local root=$work/$1/root place=usr/lib/modules/$3 file
	rm -rf "$root"
	mkdir -p "$root/$place"
	ln -s usr/lib "$root/lib"
	cp "$2/lib/modules/$3"/modules.{order,builtin,builtin.modinfo} "$root/$place/"
	needed_modules "$2" "$3" | while read -r file; do
		case $file in
		*.xz) xz -dc "$file" >"$root/$place/$(basename "$file" .xz)" ;;
		*.zst) zstd -qdc "$file" >"$root/$place/$(basename "$file" .zst)" ;;
		*) cp "$file" "$root/$place/" ;;
		esac
	done
	depmod -b "$root" "$3"
	rm "$root/lib"
	{ cat "$work/base.cpio"; archive "$root"; } >"$work/$1/initramfs"
	rm -rf "$root"
}

# ---- Machines --------------------------------------------------------------------------------------------------------

# Under qemu 7.2 without KVM, Linux 6.12 is corrupted, mostly where it allocates with cmpxchg16b: 8 of 12 boots ended in
# faults, without the instruction 0 of 6. Linux 7.2 had none in 4, and without it cannot start a bpf_timer (0 of 4). So only
# 6.12 does without. Why was not found out: one saved EFLAGS looks like the low half of a pointer.
processor() { # ACCELERATOR KERNEL-IMAGE
	case $1:${2##*/} in
	kvm:*) echo host ;;
	*:vmlinuz-6.12.*) echo max,cx16=off ;;
	*) echo max ;;
	esac
}

# An emulated timer that the host does not run in time looks to the kernel like none at all: no_timer_check.
machine() { # ACCELERATOR SECONDS KERNEL-IMAGE COMMAND-LINE QEMU-ARGUMENT...
	timeout "$2" nice qemu-system-x86_64 -accel "$1" -cpu "$(processor "$1" "$3")" -smp 2 -m 2G -kernel "$3" \
		-append "console=ttyS0 panic=-1 no_timer_check $4" -nodefaults -no-user-config -display none -no-reboot "${@:5}" </dev/null
}

# That /dev/kvm can be opened proves little: some hosts let it make a machine and cannot run it. So a kernel is started,
# without an initramfs, which ends in a panic.
kvm_works() { # KERNEL-IMAGE
	[ -w /dev/kvm ] || return 1
	machine kvm 20 "$1" "" -serial "file:$work/kvm" >/dev/null 2>&1 || true
	grep -q 'Kernel panic - not syncing: VFS' "$work/kvm"
}
