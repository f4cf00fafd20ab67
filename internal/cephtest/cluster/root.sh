#!/bin/sh
# Makes one root: a folder that holds Debian with Ceph in it.
#
# usage: root.sh SUITE MIRROR KEYRING TARGET
#
# Runs in PID and mount namespaces of its own (see makeRoot), so its mounts
# and whatever a package starts end with it.
set -eu
suite=$1 mirror=$2 keyring=$3 target=$4
export DEBIAN_FRONTEND=noninteractive LC_ALL=C

# A debootstrap older than the suite has no script under the suite's name.
# All of Debian's suites share one, `sid`.
script=
[ -e "/usr/share/debootstrap/scripts/$suite" ] || script=/usr/share/debootstrap/scripts/sid

set -- --variant=minbase
[ -z "$keyring" ] || set -- "$@" "--keyring=$keyring"
# shellcheck disable=SC2086 # $script is one path or nothing
debootstrap "$@" "$suite" "$target" "$mirror" $script

# The post-install scripts of cryptsetup and ceph-base need /proc, /sys, /dev.
mount -t proc proc "$target/proc"
mount --rbind /sys "$target/sys"
mount --rbind /dev "$target/dev"

# No package may start a service in here.
printf '#!/bin/sh\nexit 101\n' >"$target/usr/sbin/policy-rc.d"
chmod 755 "$target/usr/sbin/policy-rc.d"
# Durable writes are pointless for a folder that appears by one rename.
echo force-unsafe-io >"$target/etc/dpkg/dpkg.cfg.d/unsafe-io"
printf 'path-exclude=/usr/share/%s/*\n' doc man locale info >"$target/etc/dpkg/dpkg.cfg.d/lean"
cat >"$target/etc/apt/apt.conf.d/90root" <<'APT'
APT::Install-Recommends "false";
APT::Install-Suggests "false";
Acquire::Check-Valid-Until "false";
Acquire::Languages "none";
APT

chroot "$target" apt-get -q update
chroot "$target" apt-get -q -y install \
	ceph-mon ceph-mgr ceph-osd radosgw ceph-common ceph-mgr-modules-core uuid-runtime
chroot "$target" apt-get clean
rm -rf "$target"/var/lib/apt/lists/* "$target"/var/log/*.log
printf '127.0.0.1\tlocalhost\n::1\tlocalhost\n' >"$target/etc/hosts"
# Mount points of a running cluster.
mkdir -p "$target/var/lib/ceph" "$target/var/log/ceph"
