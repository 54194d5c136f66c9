package sqlite

import "golang.org/x/sys/unix"

// fileSystem names the file system of dir, where it is one that machines share.
func fileSystem(dir string) (name string, network bool, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "", false, err
	}
	switch uint32(st.Type) { // the magic numbers are 32 bits wide
	case unix.NFS_SUPER_MAGIC:
		return "nfs", true, nil
	case unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC:
		return "smb", true, nil
	case unix.CODA_SUPER_MAGIC:
		return "coda", true, nil
	case unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC:
		return "afs", true, nil
	case unix.CEPH_SUPER_MAGIC:
		return "ceph", true, nil
	case unix.V9FS_MAGIC:
		return "9p", true, nil
	default:
		return "", false, nil
	}
}
