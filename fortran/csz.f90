! SPDX-License-Identifier: BSD-3-Clause
!
! csz.f90: cuSZ+ for Fortran.  Arrays of any rank, of real32 or real64, go in and come back within a bound.
!
!     use csz
!     integer(int8), allocatable :: archive(:)
!     call csz_compress(archive, field, status, abs=1e-3_real64)
!     if (status == csz_ok) call csz_decompress(field, archive, status)
!     if (status /= csz_ok) print *, csz_message(status)
!
! Shapes are Fortran's: the first dimension is the fastest.  Other languages see the dimensions of the same
! archive in reverse order.  Of more than four dimensions the last ones are stored as one, as the command
! and Python do.  Arrays that are not contiguous are copied by the compiler.
module csz
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: int8, int32, int64, real32, real64
    use, intrinsic :: ieee_arithmetic, only: ieee_quiet_nan, ieee_value
    implicit none
    private

    public :: csz_compress, csz_decompress, csz_decompress_region, csz_decompress_level, csz_inspect
    public :: csz_level_shape, csz_message, csz_read_file, csz_write_file, csz_hdf5_parameters, csz_info
    public :: int8, int64, real32, real64

    ! What calls return in status; docs/api.md explains each.
    integer, parameter, public :: csz_ok = 0, csz_error_argument = 1, csz_error_type = 2, csz_error_dims = 3, &
        csz_error_bound = 4, csz_error_capacity = 5, csz_error_memory = 6, csz_error_limit = 7, &
        csz_error_region = 8, csz_error_not_archive = 9, csz_error_version = 10, csz_error_truncated = 11, &
        csz_error_corrupt = 12, csz_error_trailing = 13, csz_error_backend = 14, csz_error_zstd = 15, &
        csz_error_io = 16, csz_error_internal = 17, csz_error_level = 18
    ! The module's own: the array that is to be filled does not fit what the archive holds.
    integer, parameter, public :: csz_error_kind = -1, csz_error_shape = -2
    ! The archive is made, but a fill value that was not named may have lost all other detail.
    integer, parameter, public :: csz_warning_fill = -3

    integer, parameter, public :: csz_lorenzo = 0, csz_pyramid = 1, csz_auto = 2 ! predictor=

    integer, parameter, public :: csz_hdf5_filter_id = 411

    ! What an archive says of itself.
    type :: csz_info
        integer :: kind = 0                   ! real32 or real64
        integer :: rank = 0                   ! 1 to 4
        integer(int64) :: shape(4) = 1        ! shape(1) is the fastest dimension
        integer(int64) :: nbytes_field = 0, nbytes_archive = 0
        real(real64) :: bound_abs = 0         ! the absolute bound that holds; 0: exact
        logical :: has_fill = .false.
        real(real64) :: fill = 0
        integer :: nlevels = 1                ! levels below this have previews; 1: none
    end type

    ! csz_compress(archive, field, status, abs | rel | psnr | pwr [, floor] | exact [, fill | no_fill, predictor,
    ! zstd_level, threads, unsigned_zeros, suspect]): exactly one bound, or exact=.true.
    ! fill: the value of missing data; no_fill=.true.: every value is data.  With neither, and rel or psnr,
    ! status is csz_warning_fill where a value far outside the others looks like a fill value: the bound then
    ! refers to a range that it widens.  suspect: that value, also with abs; NaN: there is none.
    interface csz_compress
        module procedure compress_f32, compress_f64
    end interface
    ! csz_decompress(field, archive, status [, threads]): field has the archive's kind and shape.
    interface csz_decompress
        module procedure decompress_f32, decompress_f64
    end interface
    ! csz_decompress_region(field, archive, lower, upper, status [, threads]): elements lower to upper of each
    ! dimension, counted from 1, both included; both of int32 or of int64.
    interface csz_decompress_region
        module procedure region_f32, region_f64, region_f32_int32, region_f64_int32
    end interface
    ! csz_decompress_level(field, archive, level, status [, threads]): every 2**level-th element; field has
    ! the shape that csz_level_shape gives.
    interface csz_decompress_level
        module procedure level_f32, level_f64
    end interface

    ! ---- structures and calls of csz.h ----

    type, bind(C) :: c_field
        integer(c_int) :: type = 0, ndim = 0
        integer(c_int64_t) :: dims(4) = 0
    end type

    type, bind(C) :: c_options
        integer(c_size_t) :: size
        integer(c_int) :: bound_mode, workflow
        real(c_double) :: bound
        integer(c_int) :: predictor, backend, threads, zstd_level, has_fill
        real(c_double) :: fill
        type(c_ptr) :: metadata
        integer(c_size_t) :: metadata_nbytes
        real(c_double) :: floor
        integer(c_int64_t) :: unsigned_zeros
    end type

    type, bind(C) :: c_decompress_options
        integer(c_size_t) :: size
        integer(c_int) :: backend, threads
        integer(c_int64_t) :: memory_limit
    end type

    type, bind(C) :: c_suspect
        integer(c_int) :: found
        real(c_double) :: value, share, low, high, other, other_share, missing_share
    end type

    type, bind(C) :: c_outlier
        integer(c_int) :: found
        real(c_double) :: value, low, high, bound_abs
    end type

    type, bind(C) :: c_info
        type(c_field) :: field
        integer(c_int) :: bound_mode, workflow
        real(c_double) :: bound, bound_abs, fill
        integer(c_int) :: has_fill, has_zstd, has_pyramids, nlevels, format_version
        integer(c_int64_t) :: nelements, nbytes_field, nbytes_archive, nframes, ntiles, tile_dims(3)
    end type

    interface
        integer(c_int) function c_context_create(context) bind(C, name="csz_context_create")
            import :: c_int, c_ptr
            type(c_ptr), intent(out) :: context
        end function
        subroutine c_context_destroy(context) bind(C, name="csz_context_destroy")
            import :: c_ptr
            type(c_ptr), value :: context
        end subroutine
        subroutine c_options_init(options, size) bind(C, name="csz_options_init_sized")
            import :: c_options, c_size_t
            type(c_options), intent(out) :: options
            integer(c_size_t), value :: size
        end subroutine
        subroutine c_decompress_options_init(options, size) bind(C, name="csz_decompress_options_init_sized")
            import :: c_decompress_options, c_size_t
            type(c_decompress_options), intent(out) :: options
            integer(c_size_t), value :: size
        end subroutine
        integer(c_int) function c_compress_bound(nbytes, field, options) bind(C, name="csz_compress_bound")
            import :: c_int, c_size_t, c_field, c_options
            integer(c_size_t), intent(out) :: nbytes
            type(c_field), intent(in) :: field
            type(c_options), intent(in) :: options
        end function
        integer(c_int) function c_compress(context, out, capacity, nbytes, data, field, options) &
                bind(C, name="csz_compress")
            import :: c_int, c_int8_t, c_ptr, c_size_t, c_field, c_options
            type(c_ptr), value :: context, data
            integer(c_int8_t), intent(out) :: out(*)
            integer(c_size_t), value :: capacity
            integer(c_size_t), intent(out) :: nbytes
            type(c_field), intent(in) :: field
            type(c_options), intent(in) :: options
        end function
        subroutine c_fill_suspect(context, suspect) bind(C, name="csz_context_fill_suspect")
            import :: c_ptr, c_suspect
            type(c_ptr), value :: context
            type(c_suspect), intent(out) :: suspect
        end subroutine
        subroutine c_fill_outlier(context, outlier) bind(C, name="csz_context_fill_outlier")
            import :: c_ptr, c_outlier
            type(c_ptr), value :: context
            type(c_outlier), intent(out) :: outlier
        end subroutine
        integer(c_int) function c_inspect(info, info_nbytes, archive, nbytes) bind(C, name="csz_inspect")
            import :: c_int, c_int8_t, c_size_t, c_info
            type(c_info), intent(out) :: info
            integer(c_int8_t), intent(in) :: archive(*)
            integer(c_size_t), value :: info_nbytes, nbytes
        end function
        integer(c_int) function c_level_field(field, info, level) bind(C, name="csz_level_field")
            import :: c_int, c_field, c_info
            type(c_field), intent(out) :: field
            type(c_info), intent(in) :: info
            integer(c_int), value :: level
        end function
        integer(c_int) function c_decompress(context, data, capacity, archive, nbytes, options) &
                bind(C, name="csz_decompress")
            import :: c_int, c_int8_t, c_ptr, c_size_t, c_decompress_options
            type(c_ptr), value :: context, data
            integer(c_size_t), value :: capacity, nbytes
            integer(c_int8_t), intent(in) :: archive(*)
            type(c_decompress_options), intent(in) :: options
        end function
        integer(c_int) function c_decompress_region(context, data, capacity, archive, nbytes, begin, end, &
                options) bind(C, name="csz_decompress_region")
            import :: c_int, c_int8_t, c_int64_t, c_ptr, c_size_t, c_decompress_options
            type(c_ptr), value :: context, data
            integer(c_size_t), value :: capacity, nbytes
            integer(c_int8_t), intent(in) :: archive(*)
            integer(c_int64_t), intent(in) :: begin(*), end(*)
            type(c_decompress_options), intent(in) :: options
        end function
        integer(c_int) function c_decompress_level(context, data, capacity, archive, nbytes, level, begin, &
                end, options) bind(C, name="csz_decompress_level")
            import :: c_int, c_int8_t, c_ptr, c_size_t, c_decompress_options
            type(c_ptr), value :: context, data, begin, end
            integer(c_size_t), value :: capacity, nbytes
            integer(c_int8_t), intent(in) :: archive(*)
            integer(c_int), value :: level
            type(c_decompress_options), intent(in) :: options
        end function
        type(c_ptr) function c_status_string(status) bind(C, name="csz_status_string")
            import :: c_int, c_ptr
            integer(c_int), value :: status
        end function
        integer(c_size_t) function c_strlen(text) bind(C, name="strlen")
            import :: c_ptr, c_size_t
            type(c_ptr), value :: text
        end function
        integer(c_int) function c_rename(from, to) bind(C, name="rename")
            import :: c_char, c_int
            character(kind=c_char), intent(in) :: from(*), to(*)
        end function
    end interface

contains

    ! ---- compressing ----

    subroutine compress_f32(archive, field, status, abs, rel, psnr, fill, predictor, zstd_level, threads, pwr, &
                            floor, exact, unsigned_zeros, no_fill, suspect)
        integer(int8), allocatable, intent(out) :: archive(:)
        real(real32), contiguous, target, intent(in) :: field(..)
        integer, intent(out) :: status
        real(real64), intent(in), optional :: abs, rel, psnr, fill, pwr, floor
        integer, intent(in), optional :: predictor, zstd_level, threads
        logical, intent(in), optional :: exact, unsigned_zeros, no_fill
        real(real64), intent(out), optional :: suspect
        call compress(archive, c_loc(field), field_of(0, shape(field, kind=int64)), status, abs, rel, psnr, &
                      fill, predictor, zstd_level, threads, pwr, floor, exact, unsigned_zeros, no_fill, suspect)
    end subroutine

    subroutine compress_f64(archive, field, status, abs, rel, psnr, fill, predictor, zstd_level, threads, pwr, &
                            floor, exact, unsigned_zeros, no_fill, suspect)
        integer(int8), allocatable, intent(out) :: archive(:)
        real(real64), contiguous, target, intent(in) :: field(..)
        integer, intent(out) :: status
        real(real64), intent(in), optional :: abs, rel, psnr, fill, pwr, floor
        integer, intent(in), optional :: predictor, zstd_level, threads
        logical, intent(in), optional :: exact, unsigned_zeros, no_fill
        real(real64), intent(out), optional :: suspect
        call compress(archive, c_loc(field), field_of(1, shape(field, kind=int64)), status, abs, rel, psnr, &
                      fill, predictor, zstd_level, threads, pwr, floor, exact, unsigned_zeros, no_fill, suspect)
    end subroutine

    subroutine compress(archive, data, field, status, abs, rel, psnr, fill, predictor, zstd_level, threads, pwr, &
                        floor, exact, unsigned_zeros, no_fill, suspect)
        integer(int8), allocatable, intent(out) :: archive(:)
        type(c_ptr), intent(in) :: data
        type(c_field), intent(in) :: field
        integer, intent(out) :: status
        real(real64), intent(in), optional :: abs, rel, psnr, fill, pwr, floor
        integer, intent(in), optional :: predictor, zstd_level, threads
        logical, intent(in), optional :: exact, unsigned_zeros, no_fill
        real(real64), intent(out), optional :: suspect
        integer(int8), allocatable :: room(:)
        integer(c_size_t) :: capacity, nbytes
        type(c_options) :: options
        type(c_ptr) :: context
        real(real64) :: value
        logical :: every_value, is_found, is_lost
        integer :: failed
        if (present(suspect)) suspect = ieee_value(suspect, ieee_quiet_nan)
        every_value = .false.
        if (present(no_fill)) every_value = no_fill
        call c_options_init(options, c_sizeof(options))
        call bound_set(options%bound_mode, options%bound, status, abs, rel, psnr, pwr, exact)
        if (present(fill) .and. every_value) status = csz_error_argument
        if (status /= csz_ok) return
        if (present(floor)) options%floor = floor
        if (present(unsigned_zeros)) options%unsigned_zeros = merge(1, 0, unsigned_zeros)
        if (present(fill)) then
            options%has_fill = 1
            options%fill = fill
        end if
        if (present(predictor)) options%predictor = predictor
        if (present(zstd_level)) options%zstd_level = zstd_level
        if (present(threads)) options%threads = threads
        status = c_compress_bound(capacity, field, options)
        if (status /= csz_ok) return
        allocate (room(capacity), stat=failed)
        if (failed /= 0) status = csz_error_memory
        if (status == csz_ok) status = c_context_create(context)
        if (status /= csz_ok) return
        status = c_compress(context, room, capacity, nbytes, data, field, options)
        call fill_find(context, value, is_found, is_lost)
        call c_context_destroy(context)
        if (status /= csz_ok) return
        allocate (archive(nbytes), stat=failed)
        if (failed /= 0) then
            status = csz_error_memory
            return
        end if
        archive = room(:nbytes)
        if (every_value) return
        if (is_found .and. present(suspect)) suspect = value
        if (is_lost .and. (present(rel) .or. present(psnr))) status = csz_warning_fill
    end subroutine

    ! Whether the field just compressed has a value that looks like a fill value and was not named, and whether a
    ! bound that refers to the range may have lost all other detail.  A 0 is as often data.
    subroutine fill_find(context, value, is_found, is_lost)
        type(c_ptr), intent(in) :: context
        real(real64), intent(out) :: value
        logical, intent(out) :: is_found, is_lost
        type(c_suspect) :: suspect
        type(c_outlier) :: outlier
        call c_fill_suspect(context, suspect)
        call c_fill_outlier(context, outlier)
        is_found = suspect%found > 0 .or. outlier%found > 0
        value = merge(suspect%value, outlier%value, suspect%found > 0)
        is_lost = is_found .and. (value < 0 .or. value > 0 .or. suspect%found > 1)
    end subroutine

    ! ---- decompressing ----

    subroutine decompress_f32(field, archive, status, threads)
        real(real32), contiguous, target, intent(inout) :: field(..)
        integer(int8), contiguous, intent(in) :: archive(:)
        integer, intent(out) :: status
        integer, intent(in), optional :: threads
        call decompress(c_loc(field), field_of(0, shape(field, kind=int64)), archive, status, threads)
    end subroutine

    subroutine decompress_f64(field, archive, status, threads)
        real(real64), contiguous, target, intent(inout) :: field(..)
        integer(int8), contiguous, intent(in) :: archive(:)
        integer, intent(out) :: status
        integer, intent(in), optional :: threads
        call decompress(c_loc(field), field_of(1, shape(field, kind=int64)), archive, status, threads)
    end subroutine

    subroutine decompress(data, field, archive, status, threads)
        type(c_ptr), intent(in) :: data
        type(c_field), intent(in) :: field
        integer(int8), contiguous, intent(in) :: archive(:)
        integer, intent(out) :: status
        integer, intent(in), optional :: threads
        type(c_decompress_options) :: options
        type(c_ptr) :: context
        type(c_info) :: info
        status = c_inspect(info, c_sizeof(info), archive, size(archive, kind=c_size_t))
        if (status == csz_ok) status = field_differs(field, info%field)
        if (status == csz_ok) status = c_context_create(context)
        if (status /= csz_ok) return
        call decompress_options_set(options, threads)
        status = c_decompress(context, data, field_nbytes(field), archive, size(archive, kind=c_size_t), options)
        call c_context_destroy(context)
    end subroutine

    subroutine region_f32(field, archive, lower, upper, status, threads)
        real(real32), contiguous, target, intent(inout) :: field(..)
        integer(int8), contiguous, intent(in) :: archive(:)
        integer(int64), intent(in) :: lower(:), upper(:)
        integer, intent(out) :: status
        integer, intent(in), optional :: threads
        call region(c_loc(field), field_of(0, shape(field, kind=int64)), archive, lower, upper, status, threads)
    end subroutine

    subroutine region_f64(field, archive, lower, upper, status, threads)
        real(real64), contiguous, target, intent(inout) :: field(..)
        integer(int8), contiguous, intent(in) :: archive(:)
        integer(int64), intent(in) :: lower(:), upper(:)
        integer, intent(out) :: status
        integer, intent(in), optional :: threads
        call region(c_loc(field), field_of(1, shape(field, kind=int64)), archive, lower, upper, status, threads)
    end subroutine

    subroutine region_f32_int32(field, archive, lower, upper, status, threads)
        real(real32), contiguous, target, intent(inout) :: field(..)
        integer(int8), contiguous, intent(in) :: archive(:)
        integer(int32), intent(in) :: lower(:), upper(:)
        integer, intent(out) :: status
        integer, intent(in), optional :: threads
        call region_f32(field, archive, int(lower, int64), int(upper, int64), status, threads)
    end subroutine

    subroutine region_f64_int32(field, archive, lower, upper, status, threads)
        real(real64), contiguous, target, intent(inout) :: field(..)
        integer(int8), contiguous, intent(in) :: archive(:)
        integer(int32), intent(in) :: lower(:), upper(:)
        integer, intent(out) :: status
        integer, intent(in), optional :: threads
        call region_f64(field, archive, int(lower, int64), int(upper, int64), status, threads)
    end subroutine

    subroutine region(data, field, archive, lower, upper, status, threads)
        type(c_ptr), intent(in) :: data
        type(c_field), intent(in) :: field
        integer(int8), contiguous, intent(in) :: archive(:)
        integer(int64), intent(in) :: lower(:), upper(:)
        integer, intent(out) :: status
        integer, intent(in), optional :: threads
        type(c_decompress_options) :: options
        type(c_field) :: box
        type(c_info) :: info
        type(c_ptr) :: context
        integer(c_int64_t) :: begin(4), end(4)
        integer :: n
        status = c_inspect(info, c_sizeof(info), archive, size(archive, kind=c_size_t))
        if (status /= csz_ok) return
        n = info%field%ndim
        status = csz_error_region
        if (size(lower) /= n .or. size(upper) /= n) return
        if (any(lower < 1) .or. any(upper < lower)) return
        begin(:n) = lower(n:1:-1) - 1
        end(:n) = upper(n:1:-1)
        box = info%field
        box%dims(:n) = end(:n) - begin(:n)
        status = field_differs(field, box)
        if (status == csz_ok) status = c_context_create(context)
        if (status /= csz_ok) return
        call decompress_options_set(options, threads)
        status = c_decompress_region(context, data, field_nbytes(field), archive, &
                                     size(archive, kind=c_size_t), begin, end, options)
        call c_context_destroy(context)
    end subroutine

    subroutine level_f32(field, archive, level, status, threads)
        real(real32), contiguous, target, intent(inout) :: field(..)
        integer(int8), contiguous, intent(in) :: archive(:)
        integer, intent(in) :: level
        integer, intent(out) :: status
        integer, intent(in), optional :: threads
        call preview(c_loc(field), field_of(0, shape(field, kind=int64)), archive, level, status, threads)
    end subroutine

    subroutine level_f64(field, archive, level, status, threads)
        real(real64), contiguous, target, intent(inout) :: field(..)
        integer(int8), contiguous, intent(in) :: archive(:)
        integer, intent(in) :: level
        integer, intent(out) :: status
        integer, intent(in), optional :: threads
        call preview(c_loc(field), field_of(1, shape(field, kind=int64)), archive, level, status, threads)
    end subroutine

    subroutine preview(data, field, archive, level, status, threads)
        type(c_ptr), intent(in) :: data
        type(c_field), intent(in) :: field
        integer(int8), contiguous, intent(in) :: archive(:)
        integer, intent(in) :: level
        integer, intent(out) :: status
        integer, intent(in), optional :: threads
        type(c_decompress_options) :: options
        type(c_field) :: coarse
        type(c_info) :: info
        type(c_ptr) :: context
        status = c_inspect(info, c_sizeof(info), archive, size(archive, kind=c_size_t))
        if (status == csz_ok) status = c_level_field(coarse, info, level)
        if (status == csz_ok) status = field_differs(field, coarse)
        if (status == csz_ok) status = c_context_create(context)
        if (status /= csz_ok) return
        call decompress_options_set(options, threads)
        status = c_decompress_level(context, data, field_nbytes(field), archive, &
                                    size(archive, kind=c_size_t), level, c_null_ptr, c_null_ptr, options)
        call c_context_destroy(context)
    end subroutine

    ! ---- what an archive holds ----

    subroutine csz_inspect(archive, info, status)
        integer(int8), contiguous, intent(in) :: archive(:)
        type(csz_info), intent(out) :: info
        integer, intent(out) :: status
        type(c_info) :: c
        status = c_inspect(c, c_sizeof(c), archive, size(archive, kind=c_size_t))
        if (status /= csz_ok) return
        info%kind = merge(real32, real64, c%field%type == 0)
        info%rank = c%field%ndim
        info%shape(:info%rank) = c%field%dims(info%rank:1:-1)
        info%nbytes_field = c%nbytes_field
        info%nbytes_archive = c%nbytes_archive
        info%bound_abs = c%bound_abs
        info%has_fill = c%has_fill /= 0
        info%fill = c%fill
        info%nlevels = c%nlevels
    end subroutine

    ! The shape of a preview, in the first rank elements of shape.
    subroutine csz_level_shape(archive, level, rank, shape, status)
        integer(int8), contiguous, intent(in) :: archive(:)
        integer, intent(in) :: level
        integer, intent(out) :: rank
        integer(int64), intent(out) :: shape(4)
        integer, intent(out) :: status
        type(c_field) :: coarse
        type(c_info) :: info
        rank = 0
        shape = 1
        status = c_inspect(info, c_sizeof(info), archive, size(archive, kind=c_size_t))
        if (status == csz_ok) status = c_level_field(coarse, info, level)
        if (status /= csz_ok) return
        rank = coarse%ndim
        shape(:rank) = coarse%dims(rank:1:-1)
    end subroutine

    ! One short English phrase.
    function csz_message(status) result(text)
        integer, intent(in) :: status
        character(:), allocatable :: text
        character(kind=c_char), pointer :: letters(:)
        type(c_ptr) :: from
        integer :: i
        if (status == csz_error_kind) then
            text = 'the array is not of the archive''s kind, real32 or real64'
            return
        else if (status == csz_error_shape) then
            text = 'the array does not have the shape of the archive, or of its region or level'
            return
        else if (status == csz_warning_fill) then
            text = 'a value far outside the others widens the range that the bound refers to: give it as fill if it &
                   &marks missing data, no_fill=.true. if it is data'
            return
        end if
        from = c_status_string(int(status, c_int))
        call c_f_pointer(from, letters, [c_strlen(from)])
        allocate (character(size(letters)) :: text)
        do i = 1, size(letters)
            text(i:i) = letters(i)
        end do
    end function

    ! ---- files ----

    ! Writes an archive.  An older file of that name stays until the new one is complete.
    subroutine csz_write_file(name, archive, status)
        character(*), intent(in) :: name
        integer(int8), contiguous, intent(in) :: archive(:)
        integer, intent(out) :: status
        integer :: unit, failed
        status = csz_error_io
        open (newunit=unit, file=trim(name)//'.part', access='stream', form='unformatted', status='replace', &
              action='write', iostat=failed)
        if (failed /= 0) return
        write (unit, iostat=failed) archive
        if (failed /= 0) then
            close (unit, status='delete', iostat=failed)
            return
        end if
        close (unit, iostat=failed)
        if (failed /= 0) return
        if (c_rename(trim(name)//'.part'//c_null_char, trim(name)//c_null_char) == 0) status = csz_ok
    end subroutine

    subroutine csz_read_file(name, archive, status)
        character(*), intent(in) :: name
        integer(int8), allocatable, intent(out) :: archive(:)
        integer, intent(out) :: status
        integer(int64) :: nbytes
        integer :: unit, failed
        status = csz_error_io
        open (newunit=unit, file=trim(name), access='stream', form='unformatted', status='old', action='read', &
              iostat=failed)
        if (failed /= 0) return
        inquire (unit=unit, size=nbytes)
        if (nbytes >= 0) then
            allocate (archive(nbytes), stat=failed)
            if (failed /= 0) then
                status = csz_error_memory
            else
                read (unit, iostat=failed) archive
                if (failed == 0) status = csz_ok
            end if
        end if
        close (unit, iostat=failed)
    end subroutine

    ! ---- HDF5 and netCDF-4 ----

    ! The parameters of the HDF5 filter csz_hdf5_filter_id, for nf90_def_var_filter and h5pset_filter_f: exactly
    ! one bound, or exact=.true.  floor, with pwr: an absolute error that any value may have.  unsigned_zeros, not
    ! with pwr: -0.0 counts as 0.  Anything else gives status csz_error_argument or csz_error_bound, and
    ! parameters with which the filter refuses to create the variable: a call without status is safe, too.
    function csz_hdf5_parameters(abs, rel, psnr, pwr, floor, unsigned_zeros, exact, status) result(words)
        real(real64), intent(in), optional :: abs, rel, psnr, pwr, floor
        logical, intent(in), optional :: unsigned_zeros, exact
        integer, intent(out), optional :: status
        integer(c_int), allocatable :: words(:)
        real(real64) :: bound
        integer(c_int) :: mode
        integer :: wrong
        logical :: zeros
        zeros = .false.
        if (present(unsigned_zeros)) zeros = unsigned_zeros
        call bound_set(mode, bound, wrong, abs, rel, psnr, pwr, exact)
        if (present(floor) .and. mode /= 3) wrong = csz_error_argument
        if (zeros .and. mode > 2) wrong = csz_error_argument
        if (wrong /= csz_ok) then
            words = [0, 0, 0] ! a bound of 0, which the filter refuses
        else if (mode == 4) then
            words = [512]
        else if (present(floor)) then
            words = [mode + 1024, words_of(bound), 0, 0, 0, 0, words_of(floor)]
            if (.not. is_positive(floor)) wrong = csz_error_bound
        else
            words = [merge(mode + 2048, mode, zeros), words_of(bound)]
        end if
        if (wrong == csz_ok .and. mode < 4) then
            if (.not. is_positive(bound) .or. (mode == 3 .and. bound >= 1)) wrong = csz_error_bound
        end if
        if (present(status)) status = wrong
    end function

    pure logical function is_positive(x)
        real(real64), intent(in) :: x
        is_positive = x > 0 .and. x <= huge(x)
    end function

    ! A double as two words, the low one first.
    pure function words_of(x) result(words)
        real(real64), intent(in) :: x
        integer(c_int) :: words(2)
        integer(int64) :: bits
        bits = transfer(x, bits)
        words = [int_of(iand(bits, int(z'FFFFFFFF', int64))), int_of(ishft(bits, -32))]
    end function

    ! The 32 bits of a word as a signed integer.
    pure integer(c_int) function int_of(word)
        integer(int64), intent(in) :: word
        int_of = int(merge(word - 4294967296_int64, word, word > 2147483647_int64), c_int)
    end function

    ! ---- shared by the above ----

    ! Exactly one bound is given, or exact.
    subroutine bound_set(mode, bound, status, abs, rel, psnr, pwr, exact)
        integer(c_int), intent(out) :: mode
        real(c_double), intent(out) :: bound
        integer, intent(out) :: status
        real(real64), intent(in), optional :: abs, rel, psnr, pwr
        logical, intent(in), optional :: exact
        logical :: is_exact
        mode = 0
        bound = 0
        status = csz_ok
        is_exact = .false.
        if (present(exact)) is_exact = exact
        if (count([present(abs), present(rel), present(psnr), present(pwr), is_exact]) /= 1) status = csz_error_argument
        if (is_exact) mode = 4
        if (present(abs)) bound = abs
        if (present(rel)) then
            mode = 1
            bound = rel
        else if (present(psnr)) then
            mode = 2
            bound = psnr
        else if (present(pwr)) then
            mode = 3
            bound = pwr
        end if
    end subroutine

    subroutine decompress_options_set(options, threads)
        type(c_decompress_options), intent(out) :: options
        integer, intent(in), optional :: threads
        call c_decompress_options_init(options, c_sizeof(options))
        if (present(threads)) options%threads = threads
    end subroutine

    ! A field as csz.h wants it: slowest dimension first, the slowest of more than four as one.
    pure type(c_field) function field_of(type, shape)
        integer, intent(in) :: type
        integer(int64), intent(in) :: shape(:)
        integer :: i, n
        n = size(shape)
        field_of%type = type
        field_of%ndim = min(n, 4)
        do i = 1, field_of%ndim
            field_of%dims(i) = shape(field_of%ndim + 1 - i)
        end do
        if (n > 4) field_of%dims(1) = product(shape(4:))
    end function

    pure integer(c_size_t) function field_nbytes(field)
        type(c_field), intent(in) :: field
        field_nbytes = product(field%dims(:field%ndim))*merge(4, 8, field%type == 0)
    end function

    ! csz_ok if both have the same type and dims.
    pure integer function field_differs(a, b)
        type(c_field), intent(in) :: a, b
        field_differs = csz_ok
        if (a%type /= b%type) then
            field_differs = csz_error_kind
        else if (a%ndim /= b%ndim) then
            field_differs = csz_error_shape
        else if (any(a%dims(:a%ndim) /= b%dims(:b%ndim))) then
            field_differs = csz_error_shape
        end if
    end function
end module
