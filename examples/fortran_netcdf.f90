! SPDX-License-Identifier: BSD-3-Clause
!
! Writes a variable of a netCDF-4 file through the HDF5 filter, within 0.01 of each value, and reads it back:
!
!     gfortran fortran_netcdf.f90 $(pkg-config --cflags --libs csz-fortran) \
!         $(nf-config --fflags --flibs) -o writer
!     HDF5_PLUGIN_PATH=$(pkg-config --variable=hdf5plugindir csz) ./writer
!
! Whoever reads the file needs the plugin, too, and nothing else.
program fortran_netcdf
    use csz
    use netcdf
    implicit none
    integer, parameter :: nlon = 360, nlat = 180
    real(real32) :: t(nlon, nlat), back(nlon, nlat)
    integer, allocatable :: words(:)
    integer :: file, dims(2), variable, i, j

    do j = 1, nlat
        do i = 1, nlon
            t(i, j) = 15 + 20*cos(0.0349*(j - 90)) + 3*sin(0.05*i)*cos(0.11*j)
        end do
    end do
    words = csz_hdf5_parameters(abs=1e-2_real64)

    call stop_at(nf90_create('fortran.nc', ior(nf90_clobber, nf90_netcdf4), file))
    call stop_at(nf90_def_dim(file, 'lon', nlon, dims(1)))
    call stop_at(nf90_def_dim(file, 'lat', nlat, dims(2)))
    call stop_at(nf90_def_var(file, 't', nf90_float, dims, variable, chunksizes=[nlon, nlat]))
    call stop_at(nf90_def_var_filter(file, variable, csz_hdf5_filter_id, size(words), words))
    call stop_at(nf90_put_var(file, variable, t))
    call stop_at(nf90_close(file))

    call stop_at(nf90_open('fortran.nc', nf90_nowrite, file))
    call stop_at(nf90_inq_varid(file, 't', variable))
    call stop_at(nf90_get_var(file, variable, back))
    call stop_at(nf90_close(file))
    print '("largest error ", es8.2)', maxval(abs(real(t, real64) - back))
    if (maxval(abs(real(t, real64) - back)) > 1e-2_real64) error stop 1
contains
    subroutine stop_at(status)
        integer, intent(in) :: status
        if (status == nf90_noerr) return
        print '(a)', trim(nf90_strerror(status))
        error stop 1
    end subroutine
end program
